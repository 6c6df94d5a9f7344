//! Where on which other machine something is done.

use std::collections::BTreeMap;
use std::sync::Arc;

use codex_environments::wire::VariablePolicy;
use codex_environments::{RemoteMachine, RemotePath};
use codex_protocol::EnvironmentChoice;

use crate::config::OtherMachines;

/// A folder of another machine, and what belongs to it.
#[derive(Clone, Debug)]
pub struct RemotePlace {
    pub machine: RemoteMachine,
    pub cwd: RemotePath,
    /// The folders that belong to the work.
    pub roots: Vec<RemotePath>,
    /// Variables of all commands there.
    pub variables: Arc<BTreeMap<String, String>>,
    pub variable_policy: VariablePolicy,
}

/// Why an environment cannot be used. Nothing is done on this machine instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoMachine {
    #[error("No usable execution environment is available. There is no environment `{0}`.")]
    Unknown(String),
    #[error(
        "No usable execution environment is available. `{0}` is no absolute path of the environment."
    )]
    OddFolder(String),
}

impl RemotePlace {
    /// The name of the environment.
    pub fn id(&self) -> &str {
        self.machine.id()
    }
}

/// The place that an environment of a thread names.
pub fn place_of(
    choice: &EnvironmentChoice,
    machines: Option<&OtherMachines>,
) -> Result<RemotePlace, NoMachine> {
    let unknown = || NoMachine::Unknown(choice.id.clone());
    let machines = machines.ok_or_else(unknown)?;
    let entry = machines.environments.find(&choice.id).ok_or_else(unknown)?;
    let path =
        |text: &String| RemotePath::new(text).ok_or_else(|| NoMachine::OddFolder(text.clone()));
    let cwd = path(&choice.cwd)?;
    let roots: Vec<RemotePath> = choice.roots.iter().map(path).collect::<Result<_, _>>()?;
    Ok(RemotePlace {
        machine: entry.machine,
        roots: if roots.is_empty() {
            vec![cwd.clone()]
        } else {
            roots
        },
        cwd,
        variables: entry.variables,
        variable_policy: machines.variables.clone(),
    })
}
