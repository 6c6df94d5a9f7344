//! Agent roles configured by the user, a trusted project or an administrator.
//!
//! A role changes the instructions and the model of an agent. Sandbox and approval policy are inherited from the thread
//! that starts the agent, so that no role weakens them. Other settings in a role are ignored with a warning.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use codex_config::{Config, ConfigWarning, LayerStack};
use codex_core::{AgentRole, RoleSettings, RoleUnavailable};
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Limits on the depth of role folders and the number of role files.
const DEPTH: usize = 8;
const FILES: usize = 256;
/// Limit on the size of a role file.
const MAX_BYTES: u64 = 1 << 20;

/// The keys of a role file that describe the role itself.
const ROLE_KEYS: [&str; 3] = ["name", "description", "nickname_candidates"];

/// Why a role file cannot be used.
#[derive(Debug, thiserror::Error)]
enum RoleFileError {
    #[error(transparent)]
    Read(#[from] std::io::Error),
    #[error("{}", .0.message())]
    Syntax(#[from] toml::de::Error),
    #[error("`{0}` must be a text")]
    NotText(&'static str),
    #[error("`{key}`: {}", error.message())]
    Value { key: String, error: toml::de::Error },
}

/// A role that is collected from several layers.
#[derive(Debug, Default)]
struct RoleDraft {
    description: Option<String>,
    nicknames: Vec<String>,
    settings: Option<Result<RoleSettings, RoleFileError>>,
}

/// Reads the roles of the enabled layers, lowest precedence first, and of the merged settings.
pub(crate) fn roles(stack: &LayerStack, config: &Config) -> (Vec<AgentRole>, Vec<ConfigWarning>) {
    let mut drafts = BTreeMap::new();
    let mut warnings = Vec::new();
    for folder in stack.active_folders() {
        for file in role_files(&folder.join("agents")) {
            if let Err(reason) = take_file(&file, &mut drafts, &mut warnings) {
                warnings.push(malformed(&file, &reason));
            }
        }
    }
    for (name, role) in &config.agents.roles {
        let draft: &mut RoleDraft = drafts.entry(name.clone()).or_default();
        if let Some(file) = &role.config_file {
            match read_table(file) {
                Ok(table) => {
                    draft.about(&table);
                    draft.settings = Some(settings_of(&table, file, &mut warnings));
                }
                Err(reason) => {
                    warnings.push(malformed(file, &reason));
                    draft.settings = Some(Err(reason));
                }
            }
        }
        draft.description = role.description.clone().or(draft.description.take());
        if !role.nicknames.is_empty() {
            draft.nicknames.clone_from(&role.nicknames);
        }
    }
    (finished(drafts, &mut warnings), warnings)
}

fn finished(
    drafts: BTreeMap<String, RoleDraft>,
    warnings: &mut Vec<ConfigWarning>,
) -> Vec<AgentRole> {
    let mut roles = Vec::new();
    for (name, draft) in drafts {
        let Some(description) = draft.description else {
            let reason = format!("agent role `{name}` must define a description");
            let summary = format!("Ignoring malformed agent role definition: {reason}");
            warnings.push(ConfigWarning::new(summary));
            continue;
        };
        let pinned = match &draft.settings {
            Some(Ok(settings)) => settings.model.as_ref(),
            _ => None,
        };
        let pinned = pinned.map(|model| format!(" Works with the model {model}."));
        let description = description + &pinned.unwrap_or_default();
        let settings = draft
            .settings
            .unwrap_or_else(|| Ok(RoleSettings::default()));
        roles.push(AgentRole {
            name,
            description,
            nicknames: draft.nicknames,
            settings: settings.map_err(|error| RoleUnavailable(error.to_string())),
        });
    }
    roles
}

impl RoleDraft {
    fn about(&mut self, table: &Table) {
        let text = |key: &str| table.get(key).and_then(Value::as_str).map(str::trim);
        let description = text("description").filter(|text| !text.is_empty());
        self.description = description.map(str::to_owned).or(self.description.take());
        let names = table.get("nickname_candidates").and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let is_name = |name: &&str| !name.trim().is_empty() && name.chars().all(allowed);
        let names: Vec<String> = names.filter(is_name).map(str::to_owned).collect();
        if !names.is_empty() {
            self.nicknames = names;
        }
    }
}

/// The role files of a folder, sorted.
fn role_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = codex_mounts::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type());
            match kind {
                Ok(kind) if kind.is_dir() && depth < DEPTH => folders.push((path, depth + 1)),
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|end| end == "toml") => {
                    files.push(path);
                }
                _ => {}
            }
        }
    }
    files.sort();
    files.truncate(FILES);
    files
}

/// Reads a file that defines a whole role.
fn take_file(
    file: &Path,
    drafts: &mut BTreeMap<String, RoleDraft>,
    warnings: &mut Vec<ConfigWarning>,
) -> Result<(), RoleFileError> {
    let table = read_table(file)?;
    for key in ["name", "description", "developer_instructions"] {
        let text = table.get(key).and_then(Value::as_str).map(str::trim);
        if text.is_none_or(str::is_empty) {
            return Err(RoleFileError::NotText(key));
        }
    }
    let name = table
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let settings = settings_of(&table, file, warnings)?;
    let draft = drafts.entry(name.trim().to_owned()).or_default();
    draft.about(&table);
    draft.settings = Some(Ok(settings));
    Ok(())
}

fn read_table(file: &Path) -> Result<Table, RoleFileError> {
    let text = codex_regular_file::read_text(file, MAX_BYTES)?;
    Ok(codex_config::parse_table(&text)?)
}

fn settings_of(
    table: &Table,
    file: &Path,
    warnings: &mut Vec<ConfigWarning>,
) -> Result<RoleSettings, RoleFileError> {
    let mut settings = RoleSettings::default();
    let mut others = Vec::new();
    for (key, value) in table {
        match key.as_str() {
            "developer_instructions" => settings.developer_instructions = Some(read(key, value)?),
            "model" => settings.model = Some(read(key, value)?),
            "model_reasoning_effort" => settings.effort = Some(read(key, value)?),
            "model_reasoning_summary" => settings.summary = known(key, value, file, warnings),
            "model_verbosity" => settings.verbosity = known(key, value, file, warnings),
            "service_tier" => settings.service_tier = Some(read(key, value)?),
            "personality" => settings.personality = known(key, value, file, warnings),
            key if ROLE_KEYS.contains(&key) => {}
            key => others.push(format!("`{key}`")),
        }
    }
    if !others.is_empty() {
        let others = others.join(", ");
        warnings.push(ConfigWarning {
            path: Some(file.to_owned()),
            ..ConfigWarning::new(format!(
                "Settings that a role cannot have are ignored: {others}"
            ))
        });
    }
    Ok(settings)
}

fn read<T: DeserializeOwned>(key: &str, value: &Value) -> Result<T, RoleFileError> {
    let read = value.clone().try_into();
    read.map_err(|error| RoleFileError::Value {
        key: key.to_owned(),
        error,
    })
}

/// Parses an enumerated value; an unknown one is ignored with a warning.
fn known<T: DeserializeOwned>(
    key: &str,
    value: &Value,
    file: &Path,
    warnings: &mut Vec<ConfigWarning>,
) -> Option<T> {
    read(key, value)
        .inspect_err(|reason| {
            warnings.push(ConfigWarning {
                details: Some(reason.to_string()),
                path: Some(file.to_owned()),
                ..ConfigWarning::new(format!("The value of `{key}` is not known and is ignored."))
            });
        })
        .ok()
}

fn malformed(file: &Path, reason: &RoleFileError) -> ConfigWarning {
    ConfigWarning {
        path: Some(file.to_owned()),
        ..ConfigWarning::new(format!(
            "Ignoring malformed agent role definition: {}: {reason}",
            file.display()
        ))
    }
}
