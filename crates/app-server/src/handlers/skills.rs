//! `skills/list`, `skills/extraRoots/set` and `skills/config/write`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_app_server_protocol::v2::{
    SkillDependencies, SkillInterface, SkillMetadata, SkillSummary, SkillToolDependency,
    SkillsConfigWriteParams, SkillsConfigWriteResponse, SkillsExtraRootsSetParams,
    SkillsExtraRootsSetResponse, SkillsListEntry, SkillsListParams, SkillsListResponse,
};
use codex_protocol as v1;
use codex_skills::{Skill, SkillSelector, SkillSet, SkillToggle};

use super::blocking;
use super::call::RequestContext;
use crate::failure::Failure;

/// The limit for folders that a client sets.
const MAX_EXTRA_ROOTS: usize = 256;

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: SkillsListParams,
) -> Result<SkillsListResponse, Failure> {
    let further = further_roots(&params)?;
    let host = Arc::clone(server.host());
    let listed = blocking(move || {
        let library = host.skills();
        if params.force_reload {
            library.forget();
        }
        let mut cwds = params.cwds;
        if cwds.is_empty() {
            cwds.push(host.working_folder().display().to_string());
        }
        let entry = |cwd: String| {
            let none = Vec::new();
            let roots = further.get(&cwd).unwrap_or(&none);
            let skills = library.skills(&host.configuration().cwd().join(&cwd), roots);
            entry(cwd, &skills)
        };
        Ok(SkillsListResponse {
            data: cwds.into_iter().map(entry).collect(),
        })
    });
    listed.await
}

/// The additional roots of each folder.
fn further_roots(params: &SkillsListParams) -> Result<HashMap<String, Vec<PathBuf>>, Failure> {
    let mut further: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for of_folder in params.per_cwd_extra_user_roots.iter().flatten() {
        let roots = further.entry(of_folder.cwd.clone()).or_default();
        for root in &of_folder.extra_user_roots {
            let path = Path::new(root);
            if !path.is_absolute() {
                let message = format!(
                    "skills/list perCwdExtraUserRoots extraUserRoots paths must be absolute: {root}"
                );
                return Err(Failure::invalid(message));
            }
            roots.push(codex_mounts::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()));
        }
    }
    Ok(further)
}

pub(super) async fn set_extra_roots(
    RequestContext { server, .. }: RequestContext,
    params: SkillsExtraRootsSetParams,
) -> Result<SkillsExtraRootsSetResponse, Failure> {
    if params.extra_roots.len() > MAX_EXTRA_ROOTS {
        let message = format!("at most {MAX_EXTRA_ROOTS} folders of skills can be set");
        return Err(Failure::invalid_params(message));
    }
    let mut roots = Vec::with_capacity(params.extra_roots.len());
    for root in params.extra_roots {
        let path = PathBuf::from(root.0);
        if !path.is_absolute() {
            let message = format!("a folder of skills must be absolute: {}", path.display());
            return Err(Failure::invalid(message));
        }
        roots.push(codex_mounts::canonicalize(&path).unwrap_or(path));
    }
    server.host().skills().set_additional_roots(roots);
    Ok(SkillsExtraRootsSetResponse {})
}

pub(super) async fn config_write(
    RequestContext { server, .. }: RequestContext,
    params: SkillsConfigWriteParams,
) -> Result<SkillsConfigWriteResponse, Failure> {
    let name = params.name.filter(|name| !name.trim().is_empty());
    let selector = match (params.path, name) {
        (Some(path), None) if Path::new(&path.0).is_absolute() => {
            SkillSelector::Path(PathBuf::from(path.0))
        }
        (Some(path), None) => {
            let message = format!("the path of a skill must be absolute: {}", path.0);
            return Err(Failure::invalid(message));
        }
        (None, Some(name)) => SkillSelector::Name(name.trim().to_owned()),
        _ => {
            let message = "skills/config/write requires exactly one of path or name";
            return Err(Failure::invalid_params(message));
        }
    };
    let enabled = params.enabled;
    let host = Arc::clone(server.host());
    let written = blocking(move || {
        let written = host.switch_skill(&SkillToggle { selector, enabled });
        host.skills().forget();
        written.map_err(|error| Failure::internal(error.to_string()))
    });
    written.await.map(|()| SkillsConfigWriteResponse {
        effective_enabled: enabled,
    })
}

fn entry(cwd: String, skills: &SkillSet) -> SkillsListEntry {
    SkillsListEntry {
        cwd,
        skills: skills.all.iter().map(metadata).collect(),
        errors: skills.errors.clone(),
    }
}

/// A skill as the details of a plugin name it.
pub(super) fn wire_skill_summary(skill: &Skill) -> SkillSummary {
    let skill = &skill.metadata;
    SkillSummary {
        name: skill.name.clone(),
        description: skill.description.clone(),
        short_description: skill.short_description.clone(),
        interface: skill.interface.clone().map(interface),
        path: skill.path.clone(),
        enabled: skill.enabled,
    }
}

fn metadata(skill: &Skill) -> SkillMetadata {
    let plugin_id = skill.plugin.as_deref().map(str::to_owned);
    let skill = &skill.metadata;
    SkillMetadata {
        plugin_id,
        name: skill.name.clone(),
        description: skill.description.clone(),
        short_description: skill.short_description.clone(),
        interface: skill.interface.clone().map(interface),
        dependencies: skill.dependencies.clone().map(|needed| SkillDependencies {
            tools: needed.tools.into_iter().map(dependency).collect(),
        }),
        path: skill.path.clone(),
        scope: skill.scope,
        enabled: skill.enabled,
    }
}

fn interface(interface: v1::SkillInterface) -> SkillInterface {
    SkillInterface {
        display_name: interface.display_name,
        short_description: interface.short_description,
        icon_small: interface.icon_small,
        icon_large: interface.icon_large,
        brand_color: interface.brand_color,
        default_prompt: interface.default_prompt,
    }
}

fn dependency(dependency: v1::SkillToolDependency) -> SkillToolDependency {
    SkillToolDependency {
        kind: dependency.r#type,
        value: dependency.value,
        description: dependency.description,
        transport: dependency.transport,
        command: dependency.command,
        url: dependency.url,
    }
}
