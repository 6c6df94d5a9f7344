//! Where a call is carried out: here, or on another machine of the turn.

use std::path::PathBuf;

use codex_environments::RemotePath;
use codex_protocol::{EnvironmentChoice, LOCAL_ENVIRONMENT};
use codex_session_base::machines::{RemotePlace, place_of};
use serde_json::{Value, json};

use super::tool::{ToolContext, ToolFailure};

/// Where a call is carried out.
#[derive(Clone, Debug)]
pub enum CallPlace {
    Here,
    There(Box<RemotePlace>),
}

impl CallPlace {
    /// The other machine, if it is one.
    pub fn elsewhere(&self) -> Option<&RemotePlace> {
        match self {
            Self::Here => None,
            Self::There(place) => Some(place),
        }
    }

    /// The name of the other machine, if it is one.
    pub fn machine(&self) -> Option<String> {
        self.elsewhere().map(|place| place.id().to_owned())
    }
}

impl ToolContext {
    /// The place that a call names, or the first one of the turn.
    pub fn place(&self, id: Option<&str>) -> Result<CallPlace, ToolFailure> {
        let all = &self.settings.environments;
        let choice = match id {
            None => all.first(),
            Some(LOCAL_ENVIRONMENT) if all.is_empty() => None,
            Some(id) => {
                let found = all.iter().find(|choice| choice.id == id);
                Some(found.ok_or_else(|| unknown(id, all))?)
            }
        };
        match choice.filter(|choice| !choice.is_local()) {
            None => Ok(CallPlace::Here),
            Some(choice) => {
                let machines = self.session.config.services.machines.as_ref();
                let place = place_of(choice, machines);
                let place = place.map_err(|error| ToolFailure::Model(error.to_string()))?;
                Ok(CallPlace::There(Box::new(place)))
            }
        }
    }

    /// A folder that a call names, for a command there.
    pub fn folder(&self, place: &CallPlace, workdir: &str) -> PathBuf {
        match place {
            CallPlace::Here => self.settings.resolve(workdir),
            CallPlace::There(place) => PathBuf::from(place.cwd.join(workdir).as_str()),
        }
    }

    /// The shell of a place.
    pub async fn shell(&self, place: &CallPlace) -> Result<String, ToolFailure> {
        match place {
            CallPlace::Here => Ok(self.settings.shell.display().to_string()),
            CallPlace::There(place) => {
                if let Some(known) = place.machine.known_facts() {
                    return Ok(known.shell.path.clone());
                }
                let facts = place.machine.facts().await;
                let facts = facts.map_err(|error| {
                    ToolFailure::Model(format!(
                        "No usable execution environment is available. {error}"
                    ))
                })?;
                Ok(facts.shell.path.clone())
            }
        }
    }
}

/// A path of another machine that was made for showing.
pub(crate) fn remote_path(path: &std::path::Path) -> Result<RemotePath, String> {
    let path = path.to_str().and_then(RemotePath::new);
    path.ok_or_else(|| "the folder is no absolute path of the environment".to_owned())
}

fn unknown(id: &str, all: &[EnvironmentChoice]) -> ToolFailure {
    let names: Vec<&str> = all.iter().map(|choice| choice.id.as_str()).collect();
    let names = if names.is_empty() {
        LOCAL_ENVIRONMENT.to_owned()
    } else {
        names.join(", ")
    };
    ToolFailure::Model(format!(
        "there is no environment `{id}` in this thread; there is: {names}"
    ))
}

/// The environments of a turn, as far as its tools depend on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolEnvironments {
    /// Whether there is one.
    pub has_any: bool,
    /// Whether it is this machine that is meant if none is named.
    pub is_local_first: bool,
    /// Their names, if there are several.
    pub names: Vec<String>,
}

impl ToolEnvironments {
    pub fn from_choices(has_any: bool, all: &[EnvironmentChoice]) -> Self {
        let first = all.first();
        let names = || all.iter().map(|choice| choice.id.clone()).collect();
        Self {
            has_any,
            is_local_first: has_any && first.is_none_or(EnvironmentChoice::is_local),
            names: if all.len() > 1 { names() } else { Vec::new() },
        }
    }

    /// Adds the argument that names an environment, if there are several.
    pub fn add_property(&self, properties: &mut Value) {
        if !self.names.is_empty() {
            properties["environment_id"] = json!({
                "type": "string",
                "enum": self.names,
                "description": "The environment. Default: the first.",
            });
        }
    }
}
