//! Code cells whose source has not been seen, and what runtime handles mean.

use std::collections::{BTreeSet, HashMap};

use super::conversation::ThreadNumber;
use super::position::EventTime;
use crate::format::CellStatus;
use crate::ids::{CallId, CodeCellId, PayloadId, RuntimeCellId, ThreadId, ToolCallId, TurnId};

#[derive(Default)]
pub(super) struct Cells {
    pub(super) bound: HashMap<(ThreadId, RuntimeCellId), CodeCellId>,
    pub(super) queued: HashMap<CodeCellId, QueuedStart>,
    /// Queued cells whose source has come.
    pub(super) ready: BTreeSet<CodeCellId>,
    /// Tool calls by the cell that asked for them, also before the cell is there.
    pub(super) nested: HashMap<CodeCellId, Vec<ToolCallId>>,
}

pub(super) struct QueuedStart {
    pub(super) start: CellStart,
    pub(super) thread: ThreadNumber,
    pub(super) updates: Vec<CellUpdate>,
}

pub(super) struct CellStart {
    pub(super) id: CodeCellId,
    pub(super) runtime: RuntimeCellId,
    pub(super) call: CallId,
    pub(super) thread: ThreadId,
    pub(super) turn: Option<TurnId>,
    pub(super) source_js: String,
    pub(super) moment: EventTime,
}

pub(super) struct CellUpdate {
    pub(super) moment: EventTime,
    pub(super) change: CellChange,
}

pub(super) enum CellChange {
    Responded(RuntimeCellId, CellStatus, Option<PayloadId>),
    Ended(CellStatus, Option<PayloadId>),
}

impl Cells {
    /// Drops what runtime handles mean in a thread.
    pub(super) fn forget(&mut self, thread: &ThreadId) {
        self.bound.retain(|(owner, _), _| owner != thread);
    }

    /// A call item came that may be the source of a queued cell.
    pub(super) fn source_seen(&mut self, thread: ThreadNumber, call: &CallId) {
        if self.queued.is_empty() {
            return;
        }
        let id = cell_id(call);
        if self
            .queued
            .get(&id)
            .is_some_and(|queued| queued.thread == thread)
        {
            self.ready.insert(id);
        }
    }
}

pub(super) fn cell_id(call: &CallId) -> CodeCellId {
    format!("code_cell:{call}").into()
}
