//! Code cells: from the call that holds their source to their end.
//!
//! A cell may start before the model's call was seen. Its start and whatever follows wait until the item is placed.

use super::cell_queue::{CellChange, CellStart, CellUpdate, QueuedStart, cell_id};
use super::conversation::{CallNumber, ItemLink, ThreadNumber};
use super::fault::Fault;
use super::position::{EventTime, LineContext};
use super::reducer::Reducer;
use crate::format::{CellStatus, Event, ExecutionStatus, PayloadRef};
use crate::ids::{CodeCellId, ItemId, RuntimeCellId, ThreadId, ToolCallId};
use crate::model::{CellAnswers, CodeCell, ItemKind, Producer};

/// How a turn that failed, or was broken off, ends its cells.
pub(super) const FAILED_STATUS: CellStatus = CellStatus::Failed;
pub(super) const TERMINATED_STATUS: CellStatus = CellStatus::Terminated;

impl Reducer {
    pub(super) fn apply_cell(&mut self, context: LineContext, event: Event) -> Result<(), Fault> {
        let turn_thread = |turn| Some(self.trace.codex_turns.get(turn)?.thread_id.clone());
        let thread = context
            .thread
            .clone()
            .or_else(|| turn_thread(context.turn.as_ref()?))
            .ok_or(Fault::NoCellContext)?;
        match event {
            Event::CodeCellInitialResponse {
                runtime_cell_id: runtime,
                status,
                response_payload,
            } => {
                self.expect_optional(response_payload.as_ref());
                let cell = self.bound_cell("code cell initial response", &thread, &runtime)?;
                let payload = response_payload.map(|payload| payload.raw_payload_id);
                self.update_cell(cell, CellChange::Responded(runtime, status, payload))
            }
            Event::CodeCellEnded {
                runtime_cell_id: runtime,
                status,
                response_payload,
            } => {
                self.expect_optional(response_payload.as_ref());
                let cell = self.bound_cell("code cell end", &thread, &runtime)?;
                let payload = response_payload.map(|payload| payload.raw_payload_id);
                self.update_cell(cell, CellChange::Ended(status, payload))
            }
            Event::CodeCellStarted {
                runtime_cell_id: runtime,
                model_visible_call_id: call,
                source_js,
            } => {
                let start = CellStart {
                    id: cell_id(&call),
                    runtime,
                    call,
                    thread,
                    turn: context.turn,
                    source_js,
                    moment: self.now,
                };
                self.cell_started(start)
            }
            _ => Ok(()),
        }
    }

    fn expect_optional(&mut self, payload: Option<&PayloadRef>) {
        if let Some(payload) = payload {
            self.expect_file(payload);
        }
    }

    fn cell_started(&mut self, start: CellStart) -> Result<(), Fault> {
        let key = (start.thread.clone(), start.runtime.clone());
        if let Some(first) = self.cells.bound.get(&key)
            && *first != start.id
        {
            let first = first.clone();
            self.tolerate(Fault::CellRebound {
                runtime: start.runtime.clone(),
                thread: start.thread.clone(),
                first,
                second: start.id.clone(),
            })?;
        }
        self.cells.bound.insert(key, start.id.clone());
        let known = self.trace.code_cells.contains_key(&start.id);
        if known || self.cells.queued.contains_key(&start.id) {
            return Err(Fault::DuplicateCell(start.id));
        }
        let thread = self.thread_number(&start.thread);
        let call = self.conversation.call_number(&start.call);
        match self.cell_source(thread, call) {
            Some(source) => self.create_cell(start, source),
            None => {
                let queued = QueuedStart {
                    thread,
                    updates: Vec::new(),
                    start,
                };
                self.cells.queued.insert(queued.start.id.clone(), queued);
                Ok(())
            }
        }
    }

    /// The lowest item that holds the source of a cell.
    fn cell_source(&self, thread: ThreadNumber, call: CallNumber) -> Option<ItemId> {
        let is_source = |kind| kind == ItemKind::CustomToolCall;
        let sources = self.conversation.items_of_call(thread, call, is_source);
        sources.first().copied()
    }

    /// Starts the queued cells whose source has come, the lowest id first.
    pub(super) fn start_ready_cells(&mut self) -> Result<(), Fault> {
        while let Some(id) = self.cells.ready.pop_first() {
            let Some(queued) = self.cells.queued.remove(&id) else {
                continue;
            };
            let call = self.conversation.call_number(&queued.start.call);
            let Some(source) = self.cell_source(queued.thread, call) else {
                continue;
            };
            if let Err(fault) = self.create_cell(queued.start, source) {
                self.tolerate(fault)?;
                continue;
            }
            let mut updates = queued.updates;
            updates.sort_by_key(|update| update.moment.seq);
            for update in updates {
                self.apply_update(&id, update);
            }
        }
        Ok(())
    }

    fn create_cell(&mut self, start: CellStart, source: ItemId) -> Result<(), Fault> {
        let Some(turn) = start.turn else {
            return Err(Fault::CellWithoutTurn(start.id));
        };
        let what = || format!("code cell start {}", start.id);
        let thread_id = self.require_turn(what, &turn, &start.thread)?;
        let thread = self.thread_number(&start.thread);
        let call = self.conversation.call_number(&start.call);
        let is_output = |kind| kind == ItemKind::CustomToolCallOutput;
        let outputs = self.conversation.items_of_call(thread, call, is_output);
        let mut nested = self
            .cells
            .nested
            .get(&start.id)
            .cloned()
            .unwrap_or_default();
        nested.sort_unstable();
        let cell = CodeCell {
            code_cell_id: start.id.clone(),
            model_visible_call_id: start.call,
            thread_id,
            codex_turn_id: turn.clone(),
            source_item_id: source,
            output_item_ids: Vec::new(),
            runtime_cell_id: Some(start.runtime),
            execution: start.moment.open(),
            runtime_status: CellStatus::Starting,
            initial_response_at_unix_ms: None,
            initial_response_seq: None,
            answers: (self.schema.has_ids()).then(CellAnswers::default),
            yielded_at_unix_ms: None,
            yielded_seq: None,
            source_js: start.source_js,
            nested_tool_call_ids: nested,
            wait_tool_call_ids: Vec::new(),
        };
        self.open_in_turn
            .entry(turn)
            .or_default()
            .cells
            .push(start.id.clone());
        self.trace.code_cells.insert(start.id.clone(), cell);
        self.conversation.call(call).cell = Some(start.id);
        self.link_cell_tool(call);
        for output in outputs {
            self.link_cell_output(output, call);
        }
        Ok(())
    }

    /// In schema 2 a call of `exec` is a tool call beside its cell.
    pub(super) fn link_cell_tool(&mut self, call: CallNumber) {
        let call = self.conversation.call(call);
        if let (true, Some(cell), Some(tool)) = (self.schema.has_ids(), &call.cell, &call.tool)
            && let Some(tool) = self.trace.tool_calls.get_mut(tool)
        {
            tool.started_code_cell_id = Some(cell.clone());
        }
    }

    /// Links an output item to the cell that it came from, once.
    pub(super) fn link_cell_output(&mut self, item: ItemId, call: CallNumber) {
        if self.conversation.call(call).cell.is_none()
            || self.conversation.item(item).kind != ItemKind::CustomToolCallOutput
            || !self.conversation.set_link(item, ItemLink::Cell)
        {
            return;
        }
        let cell_id = self.conversation.call(call).cell.clone();
        let cell = cell_id.and_then(|id| self.trace.code_cells.get_mut(&id));
        if let Some(cell) = cell {
            cell.output_item_ids.push(item);
            let producer = Producer::CodeCell {
                code_cell_id: cell.code_cell_id.clone(),
            };
            self.conversation.add_producer(item, &producer);
        }
    }

    /// The cell that a runtime handle means in a thread.
    pub(super) fn bound_cell(
        &self,
        what: &'static str,
        thread: &ThreadId,
        runtime: &RuntimeCellId,
    ) -> Result<CodeCellId, Fault> {
        let bound = self.cells.bound.get(&(thread.clone(), runtime.clone()));
        bound.cloned().ok_or_else(|| Fault::UnknownCell {
            what,
            runtime: runtime.clone(),
            thread: thread.clone(),
        })
    }

    fn update_cell(&mut self, id: CodeCellId, change: CellChange) -> Result<(), Fault> {
        let update = CellUpdate {
            moment: self.now,
            change,
        };
        if let Some(queued) = self.cells.queued.get_mut(&id) {
            queued.updates.push(update);
        } else {
            self.apply_update(&id, update);
        }
        Ok(())
    }

    fn apply_update(&mut self, id: &CodeCellId, update: CellUpdate) {
        let Some(cell) = self.trace.code_cells.get_mut(id) else {
            return;
        };
        let EventTime { seq, at } = update.moment;
        if let (Some(answers), CellChange::Responded(_, status, payload)) =
            (&mut cell.answers, &update.change)
            && answers.initial_response_status.is_none()
        {
            answers.initial_response_status = Some(*status);
            answers.raw_initial_response_payload_id.clone_from(payload);
            cell.initial_response_at_unix_ms = Some(at);
            cell.initial_response_seq = Some(seq);
        }
        cell.initial_response_at_unix_ms.get_or_insert(at);
        cell.initial_response_seq.get_or_insert(seq);
        match update.change {
            CellChange::Responded(runtime, status, _) => {
                cell.runtime_cell_id = Some(runtime);
                cell.runtime_status = status;
                if status == CellStatus::Yielded {
                    cell.yielded_at_unix_ms = Some(at);
                    cell.yielded_seq = Some(seq);
                }
            }
            CellChange::Ended(status, payload) => {
                if let Some(answers) = &mut cell.answers {
                    answers.raw_result_payload_id = payload;
                }
                cell.runtime_status = status;
                update.moment.close(&mut cell.execution, status.into());
            }
        }
    }

    /// Ends a cell that its turn leaves behind.
    pub(super) fn end_running_cell(&mut self, id: &CodeCellId, status: CellStatus) {
        let running = self
            .trace
            .code_cells
            .get(id)
            .is_some_and(|cell| cell.execution.status == ExecutionStatus::Running);
        if running {
            let moment = self.now;
            let change = CellChange::Ended(status, None);
            self.apply_update(id, CellUpdate { moment, change });
        }
    }

    /// Notes a tool call that a cell asked for.
    pub(super) fn nest(&mut self, cell: CodeCellId, tool: &ToolCallId) {
        if let Some(cell) = self.trace.code_cells.get_mut(&cell) {
            cell.nested_tool_call_ids.push(tool.clone());
        }
        self.cells
            .nested
            .entry(cell)
            .or_default()
            .push(tool.clone());
    }

    /// A call of `wait` found its cell.
    pub(super) fn wait_target(
        &mut self,
        context: LineContext,
        tool: ToolCallId,
        runtime: RuntimeCellId,
    ) -> Result<(), Fault> {
        let thread = context.thread.ok_or(Fault::NoCellContext)?;
        let cell = self.bound_cell("code cell wait target", &thread, &runtime)?;
        let Some(call) = self.trace.tool_calls.get_mut(&tool) else {
            let what = "code cell wait target";
            return Err(Fault::UnknownTool { what, tool });
        };
        call.resolved_wait_runtime_cell_id = Some(runtime);
        if let Some(cell) = self.trace.code_cells.get_mut(&cell) {
            cell.wait_tool_call_ids.push(tool);
        }
        Ok(())
    }

    /// Notes a tool call that waits for a cell; a cell that is not there yet misses it.
    pub(super) fn wait_for_cell(
        &mut self,
        thread: &ThreadId,
        runtime: &RuntimeCellId,
        tool: &ToolCallId,
    ) {
        let bound = self.cells.bound.get(&(thread.clone(), runtime.clone()));
        if let Some(cell) = bound.and_then(|id| self.trace.code_cells.get_mut(id)) {
            cell.wait_tool_call_ids.push(tool.clone());
        }
    }
}
