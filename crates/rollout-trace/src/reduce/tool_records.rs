//! What is known of tools beside their calls, and small helpers for them.

use std::collections::HashMap;

use crate::ids::{OperationId, TerminalId, ThreadId, ToolCallId};
use crate::json::Json;

/// What the reducer knows of tools beside the calls.
#[derive(Default)]
pub(super) struct Tools {
    /// Counts the operations, which have no id of their own.
    pub(super) operations: u32,
    pub(super) processes: Processes,
    /// The latest call under an id that was used again, and how many there are.
    pub(super) reused: HashMap<ToolCallId, (ToolCallId, u32)>,
}

impl Tools {
    /// The call that an id refers to now.
    pub(super) fn latest(&self, id: ToolCallId) -> ToolCallId {
        match self.reused.get(&id) {
            Some((latest, _)) => latest.clone(),
            None => id,
        }
    }
}

/// The processes that operations run in.
///
/// A terminal session of schema 1 has the id of its process. In schema 2 it has the id of the operation that opened it,
/// as a process id may come again.
#[derive(Default)]
pub(super) struct Processes {
    pub(super) of_operation: HashMap<OperationId, TerminalId>,
    /// The session that was opened last for a process; schema 2.
    pub(super) newest: HashMap<(ThreadId, TerminalId), TerminalId>,
}

impl Processes {
    /// Drops what process ids mean in a thread.
    pub(super) fn forget(&mut self, thread: &ThreadId) {
        self.newest.retain(|(owner, _), _| owner != thread);
    }
}

/// Appends what is not there yet.
pub(super) fn push_new<T: Clone + PartialEq>(list: &mut Vec<T>, value: &T) {
    if !list.contains(value) {
        list.push(value.clone());
    }
}

/// The unparsed arguments of a function call.
pub(super) fn function_arguments<'j>(invocation: &'j Json<'_>) -> Option<&'j str> {
    let call = invocation.get("payload")?;
    call.get_str("type").filter(|&kind| kind == "function")?;
    call.get_str("arguments")
}
