//! Other machines that threads may work on.

use std::sync::Arc;

use codex_environments::Environments;
use codex_environments::wire::VariablePolicy;

/// The machines that settings and clients name, and what holds on all of them.
#[derive(Clone, Debug)]
pub struct OtherMachines {
    pub environments: Arc<Environments>,
    /// Which variables of their exec servers commands get.
    pub variables: VariablePolicy,
    /// The names of instruction files, the first of which is read in each folder.
    pub instruction_names: Vec<String>,
    /// The limit on the size of the instruction files.
    pub max_instruction_bytes: u64,
}
