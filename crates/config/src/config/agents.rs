//! Sub-agents: their limits, and roles from settings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::error::ConfigError;
use crate::schema::{AgentRoleFile, ConfigFile};
use crate::warning::ConfigWarning;

const MAX_THREADS: u32 = 6;
const MAX_DEPTH: u32 = 1;
const JOB_SECONDS: u32 = 1800;

/// Limits and roles of agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSettings {
    /// Maximum number of running agents.
    pub max_threads: u32,
    /// Maximum depth of agents that start agents.
    pub max_depth: u32,
    /// How long an agent may work on an item of a job.
    pub job_max_runtime_seconds: u32,
    /// Roles by name, without those from files in `agents` folders.
    pub roles: BTreeMap<String, AgentRole>,
}

/// A role of sub-agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRole {
    /// What the role is for. If absent, its file must say it.
    pub description: Option<String>,
    /// The file with the settings of the role.
    pub config_file: Option<PathBuf>,
    /// Display names for agents of the role.
    pub nicknames: Vec<String>,
}

impl AgentSettings {
    pub(super) fn resolve(
        file: &ConfigFile,
        roles: BTreeMap<String, AgentRole>,
    ) -> Result<Self, ConfigError> {
        let agents = file.agents.as_ref();
        let threads = agents.and_then(|agents| agents.max_threads);
        let depth = agents.and_then(|agents| agents.max_depth);
        let runtime = agents.and_then(|agents| agents.job_max_runtime_seconds);
        Ok(Self {
            max_threads: limit("max_threads", threads, MAX_THREADS)?,
            max_depth: limit("max_depth", depth, MAX_DEPTH)?,
            job_max_runtime_seconds: limit("job_max_runtime_seconds", runtime, JOB_SECONDS)?,
            roles,
        })
    }
}

fn limit(key: &str, value: Option<i64>, default: u32) -> Result<u32, ConfigError> {
    let value = value.map(|value| at_least_one(key, value)).transpose()?;
    Ok(value.map_or(default, |value| u32::try_from(value).unwrap_or(u32::MAX)))
}

fn at_least_one(key: &str, value: i64) -> Result<u64, ConfigError> {
    match u64::try_from(value) {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(ConfigError::setting(format!(
            "agents.{key} must be at least 1"
        ))),
    }
}

/// The valid roles. Adds a warning for each of the others.
pub(super) fn roles(
    file: &ConfigFile,
    warnings: &mut Vec<ConfigWarning>,
) -> BTreeMap<String, AgentRole> {
    let mut roles = BTreeMap::new();
    for (name, role) in file.agents.iter().flat_map(|agents| &agents.roles) {
        match role_of(name, role) {
            Ok(role) => {
                roles.insert(name.clone(), role);
            }
            Err(reason) => warnings.push(ConfigWarning::new(format!(
                "Ignoring malformed agent role definition: {reason}"
            ))),
        }
    }
    roles
}

/// Why the definition of a role is ignored.
#[derive(Debug, thiserror::Error)]
enum RoleError {
    #[error("agent role `{0}` must define a description")]
    NoDescription(String),
    #[error("agents.{0}.nickname_candidates must contain at least one name")]
    NoNicknames(String),
    #[error(
        "agents.{role}.nickname_candidates may only contain ASCII letters, digits, spaces, `-` and `_`: `{name}`"
    )]
    Nickname { role: String, name: String },
    #[error("agents.{role}.nickname_candidates contains `{name}` twice")]
    DuplicateNickname { role: String, name: String },
}

fn role_of(name: &str, file: &AgentRoleFile) -> Result<AgentRole, RoleError> {
    let description = file.description.as_deref().map(str::trim);
    let description = description.filter(|text| !text.is_empty());
    if description.is_none() && file.config_file.is_none() {
        return Err(RoleError::NoDescription(name.to_owned()));
    }
    if let Some(nicknames) = &file.nickname_candidates {
        check_nicknames(name, nicknames)?;
    }
    Ok(AgentRole {
        description: description.map(str::to_owned),
        config_file: file.config_file.clone(),
        nicknames: file.nickname_candidates.clone().unwrap_or_default(),
    })
}

fn check_nicknames(role: &str, names: &[String]) -> Result<(), RoleError> {
    let role = role.to_owned();
    if names.is_empty() {
        return Err(RoleError::NoNicknames(role));
    }
    let mut seen = BTreeSet::new();
    for name in names {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_');
        if name.trim().is_empty() || !name.chars().all(allowed) {
            let name = name.clone();
            return Err(RoleError::Nickname { role, name });
        }
        if !seen.insert(name.trim()) {
            let name = name.clone();
            return Err(RoleError::DuplicateNickname { role, name });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<(AgentSettings, Vec<String>), String> {
        let file: ConfigFile = toml::from_str(text).unwrap();
        let mut warnings = Vec::new();
        let roles = roles(&file, &mut warnings);
        let settings = AgentSettings::resolve(&file, roles).map_err(|error| error.to_string())?;
        Ok((
            settings,
            warnings
                .into_iter()
                .map(|warning| warning.summary)
                .collect(),
        ))
    }

    #[test]
    fn limits_are_at_least_one() {
        let (default, _) = settings("").unwrap();
        assert_eq!((default.max_threads, default.max_depth), (6, 1));
        assert_eq!(default.job_max_runtime_seconds, 1800);
        for key in ["max_threads", "max_depth", "job_max_runtime_seconds"] {
            let error = settings(&format!("agents.{key} = 0")).unwrap_err();
            assert_eq!(error, format!("agents.{key} must be at least 1"));
        }
    }

    #[test]
    fn malformed_roles_are_left_out() {
        let (settings, warnings) = settings(
            "[agents.good]\ndescription = 'd'\nnickname_candidates = ['Ada', 'Bo-2']\n\
             [agents.file]\nconfig_file = '/x'\n\
             [agents.none]\n\
             [agents.empty]\ndescription = 'd'\nnickname_candidates = []\n\
             [agents.twice]\ndescription = 'd'\nnickname_candidates = ['A', 'A']\n\
             [agents.odd]\ndescription = 'd'\nnickname_candidates = ['A!']\n",
        )
        .unwrap();
        assert_eq!(settings.roles.keys().collect::<Vec<_>>(), ["file", "good"]);
        assert_eq!(warnings.len(), 4);
        assert_eq!(
            warnings[1],
            "Ignoring malformed agent role definition: agent role `none` must define a description",
        );
    }
}
