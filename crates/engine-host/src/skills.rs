//! Configures skills: determines their roots and rules, and enables or disables them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use codex_config::schema::SkillRule;
use codex_config::{
    Config, ConfigEdit, EditRequest, Environment, KeyPath, LayerSource, LayerStack, LoadRequest,
    Overrides, RequestParams, TrustLevel, edit_user_config,
};
use codex_plugins::InstalledPlugin;
use codex_protocol::SkillScope;
use codex_skills::{
    SkillLibrary, SkillRoot, SkillSelector, SkillSources, SkillToggle, SourceError, install_bundled,
};

use crate::{plugin_sources, wiring};

/// The skill library for the configuration with these flags.
pub(crate) fn library(flags: Overrides) -> Arc<SkillLibrary> {
    SkillLibrary::new(move |cwd| {
        let (sources, config) = sources(cwd, &flags)?;
        if let Err(error) = install_bundled(&system_root(&config.home), config.tools.bundled_skills)
        {
            tracing::warn!("the bundled skills are not there: {error}");
        }
        Ok(sources)
    })
}

/// The skill library of a thread with flags of its own, which has no say about the files of bundled skills.
pub(crate) fn library_of_thread(flags: Overrides) -> Arc<SkillLibrary> {
    SkillLibrary::new(move |cwd| Ok(sources(cwd, &flags)?.0))
}

fn sources(cwd: &Path, flags: &Overrides) -> Result<(SkillSources, Config), SourceError> {
    read_sources(cwd, flags).map_err(|error| SourceError(format!("{error:#}")))
}

fn read_sources(cwd: &Path, flags: &Overrides) -> anyhow::Result<(SkillSources, Config)> {
    let env = wiring::config_environment()?;
    let stack = LayerStack::load(&env, Some(cwd), flags)?;
    let params = RequestParams::default();
    let request = LoadRequest {
        env: &env,
        cwd: Some(cwd),
        flags,
        params: &params,
        host_features: &BTreeMap::new(),
    };
    let config = Config::from_stack(&stack, request)?;
    let sources = SkillSources {
        roots: roots(
            &stack,
            &env,
            config.tools.bundled_skills,
            &plugin_sources::enabled(&config),
        ),
        rules: config.tools.skill_rules.iter().filter_map(rule).collect(),
    };
    Ok((sources, config))
}

fn system_root(home: &Path) -> PathBuf {
    home.join("skills/.system")
}

/// The roots, the nearest first.
fn roots(
    stack: &LayerStack,
    env: &Environment,
    bundled: bool,
    plugins: &[InstalledPlugin],
) -> Vec<SkillRoot> {
    let root = |path: PathBuf, scope| SkillRoot {
        path,
        scope,
        trusted: true,
        plugin: None,
    };
    // Skills of a project lie two levels below the folder that they are of.
    let of_project = |path: PathBuf| SkillRoot {
        trusted: is_believed(stack, path.ancestors().nth(2)),
        path,
        scope: SkillScope::Repo,
        plugin: None,
    };
    let mut roots = Vec::new();
    for layer in stack.layers().iter().rev() {
        match &layer.source {
            LayerSource::Project { folder } => {
                roots.push(of_project(folder.join("skills")));
            }
            LayerSource::User { .. } => {
                roots.push(root(env.codex_home.join("skills"), SkillScope::User));
                if let Some(home) = &env.user_home {
                    roots.push(root(home.join(".agents/skills"), SkillScope::User));
                }
                if bundled {
                    roots.push(root(system_root(&env.codex_home), SkillScope::System));
                }
            }
            LayerSource::System { file } => {
                let folder = file.parent().unwrap_or(file);
                roots.push(root(folder.join("skills"), SkillScope::Admin));
            }
            _ => {}
        }
    }
    for plugin in plugins {
        let id: Arc<str> = plugin.id.to_string().into();
        roots.extend(plugin.skill_roots.iter().map(|path| SkillRoot {
            plugin: Some(Arc::clone(&id)),
            ..root(path.clone(), SkillScope::User)
        }));
    }
    let folders = stack.project().map(|project| project.folders());
    for folder in folders.into_iter().flatten() {
        roots.push(of_project(folder.join(".agents/skills")));
    }
    roots
}

/// Whether skills of a folder may bring scripts along: the folder is one that the user's settings name as trusted. Below
/// it a confined command may have written them.
fn is_believed(stack: &LayerStack, folder: Option<&Path>) -> bool {
    let Some(Ok(folder)) = folder.map(Path::canonicalize) else {
        return false;
    };
    stack.trust() == Some(TrustLevel::Trusted)
        && stack.trusted_folders().contains(&folder)
        && !codex_project_markers::is_shared_folder(&folder)
}

/// Converts a rule; one that names no skill, or two, is ignored.
fn rule(rule: &SkillRule) -> Option<SkillToggle> {
    let name = rule.name.as_ref().map(|name| name.trim());
    let selector = match (&rule.path, name) {
        (Some(path), None) => SkillSelector::Path(path.clone()),
        (None, Some(name)) if !name.is_empty() => SkillSelector::Name(name.to_owned()),
        _ => {
            tracing::warn!("a rule of `skills.config` needs either a path or a name");
            return None;
        }
    };
    Some(SkillToggle {
        selector,
        enabled: rule.enabled,
    })
}

/// Disables a skill in the user's file, or removes the entry that disables it.
pub(crate) fn switch(rule: &SkillToggle, flags: &Overrides) -> anyhow::Result<()> {
    let env = wiring::config_environment()?;
    let stack = LayerStack::load(&env, None, flags)?;
    let user = stack.user().map(|layer| &layer.table);
    let written = user
        .and_then(|table| table.get("skills")?.get("config")?.as_array())
        .cloned()
        .unwrap_or_default();
    let mut entries: Vec<_> = written
        .into_iter()
        .filter(|entry| !is_about(entry, &rule.selector))
        .collect();
    if !rule.enabled {
        let mut entry = toml::Table::new();
        match &rule.selector {
            SkillSelector::Path(path) => {
                let path = path.to_str().context("the path is no text")?;
                entry.insert("path".to_owned(), path.into());
            }
            SkillSelector::Name(name) => {
                entry.insert("name".to_owned(), name.as_str().into());
            }
        }
        entry.insert("enabled".to_owned(), false.into());
        entries.push(entry.into());
    }
    let path = KeyPath::from_segments(["skills", "config"]).context("the key of the rules")?;
    let edit = ConfigEdit::set(path, entries);
    edit_user_config(EditRequest {
        env: &env,
        flags,
        host_features: &BTreeMap::new(),
        file: None,
        expected_version: None,
        edits: &[edit],
    })?;
    Ok(())
}

fn is_about(entry: &toml::Value, selector: &SkillSelector) -> bool {
    match selector {
        SkillSelector::Name(name) => entry.get("name").and_then(|own| own.as_str()) == Some(name),
        SkillSelector::Path(path) => {
            entry
                .get("path")
                .and_then(|own| own.as_str())
                .is_some_and(|own| {
                    let real = |path: &Path| codex_mounts::canonicalize(path).ok();
                    let own = Path::new(own);
                    own == path || real(own).is_some_and(|own| real(path) == Some(own))
                })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn trust_of_folder_excludes_skills_below() {
        let machine = tempfile::tempdir_in("/var/tmp").unwrap();
        let top = dunce::canonicalize(machine.path()).unwrap();
        let (home, project) = (top.join("home"), top.join("project"));
        for folder in [
            "home",
            "project/.git",
            "project/.codex",
            "project/sub/.codex",
        ] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        let trust = format!("[projects.{project:?}]\ntrust_level = \"trusted\"\n");
        fs::write(home.join("config.toml"), trust).unwrap();
        let env = Environment::with_home(&home);
        let stack =
            LayerStack::load(&env, Some(&project.join("sub")), &Overrides::default()).unwrap();
        let roots = roots(&stack, &env, false, &[]);
        let trusted = |path: PathBuf| roots.iter().find(|root| root.path == path).unwrap().trusted;
        for name in [".codex/skills", ".agents/skills"] {
            assert!(trusted(project.join(name)), "{name}");
            assert!(!trusted(project.join("sub").join(name)), "{name}");
        }
        assert!(trusted(home.join("skills")));
    }
}
