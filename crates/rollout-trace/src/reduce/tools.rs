//! Tool calls: dispatch, runtime, and what the model saw of them.

use super::conversation::{CallNumber, ItemLink};
use super::fault::Fault;
use super::position::LineContext;
use super::reducer::Reducer;
use super::terminals::OperationStart;
use super::tool_records::{function_arguments, push_new};
use crate::format::{Event, ExecutionStatus, PayloadRef, Requester, Schema, Summary, ToolKind};
use crate::ids::{CallId, ItemId, McpCallId, OperationId, ThreadId, ToolCallId, TurnId};
use crate::json::{Json, Scanner};
use crate::model::{
    ItemKind, ModelObservation, ObservationSource, Producer, ToolCall, ToolRequester,
};

/// What an invocation payload asks of the reducer, beside being there.
struct ParsedInvocation {
    operation: Option<OperationStart>,
    waits_for: Option<String>,
}

impl Reducer {
    pub(super) fn apply_tool(&mut self, context: LineContext, event: Event) -> Result<(), Fault> {
        match event {
            Event::McpToolCallCorrelationAssigned {
                tool_call_id,
                mcp_call_id,
            } => self.correlate(self.tools.latest(tool_call_id), mcp_call_id),
            Event::ToolCallRuntimeStarted {
                tool_call_id,
                kind,
                runtime_payload,
            } => self.runtime_started(self.tools.latest(tool_call_id), kind, runtime_payload),
            Event::ToolCallRuntimeEnded {
                tool_call_id,
                status,
                runtime_payload,
            } => self.runtime_ended(self.tools.latest(tool_call_id), status, runtime_payload),
            Event::ToolCallEnded {
                tool_call_id,
                status,
                result_payload,
            } => self.tool_ended(self.tools.latest(tool_call_id), status, result_payload),
            started => self.tool_started(context, started),
        }
    }

    fn tool_started(&mut self, context: LineContext, event: Event) -> Result<(), Fault> {
        let Event::ToolCallStarted {
            tool_call_id: tool,
            model_visible_call_id: call,
            code_mode_runtime_tool_id,
            requester,
            kind,
            summary,
            invocation_payload,
        } = event
        else {
            return Ok(());
        };
        let tool = self.unused_tool_id(tool)?;
        let (thread_id, turn) = self.tool_context(context)?;
        let call_number = self.claim_call(&tool, call.as_ref())?;
        let requester = self.requester(&thread_id, requester)?;
        let call_tool = ToolCall {
            tool_call_id: tool.clone(),
            mcp_call_id: None,
            model_visible_call_id: call,
            code_mode_runtime_tool_id,
            started_code_cell_id: None,
            resolved_wait_runtime_cell_id: None,
            thread_id: thread_id.clone(),
            started_by_codex_turn_id: turn,
            execution: self.now.open(),
            requester,
            kind,
            model_visible_call_item_ids: Vec::new(),
            model_visible_output_item_ids: Vec::new(),
            terminal_operation_id: None,
            summary,
            raw_invocation_payload_id: invocation_payload
                .as_ref()
                .map(|payload| payload.raw_payload_id.clone()),
            raw_result_payload_id: None,
            raw_runtime_payload_ids: Vec::new(),
        };
        let nested_in = match &call_tool.requester {
            ToolRequester::Model => None,
            ToolRequester::CodeCell { code_cell_id } => Some(code_cell_id.clone()),
        };
        let is_write = call_tool.kind == ToolKind::WriteStdin;
        self.trace.tool_calls.insert(tool.clone(), call_tool);
        if let Some(payload) = invocation_payload {
            self.read_invocation(&tool, &thread_id, &payload, is_write)?;
        }
        if let Some(cell) = nested_in {
            self.nest(cell, &tool);
        }
        if let Some(call) = call_number {
            self.link_cell_tool(call);
            self.attach_known_items(&thread_id, call);
        }
        self.sync_observation(&tool);
        Ok(())
    }

    /// The id for a new call. A model may use one twice; then the second call is kept under an id of its own.
    fn unused_tool_id(&mut self, id: ToolCallId) -> Result<ToolCallId, Fault> {
        if !self.trace.tool_calls.contains_key(&id) {
            return Ok(id);
        }
        if !self.is_in_order() {
            return Err(Fault::DuplicateTool(id));
        }
        self.tolerate(Fault::DuplicateTool(id.clone()))?;
        let (_, uses) = self
            .tools
            .reused
            .get(&id)
            .cloned()
            .unwrap_or((id.clone(), 1));
        let own = ToolCallId::from(format!("{id}#{}", uses + 1));
        self.tools.reused.insert(id, (own.clone(), uses + 1));
        Ok(own)
    }

    /// The thread of a tool call, and its turn if the line names one.
    fn tool_context(&mut self, context: LineContext) -> Result<(ThreadId, Option<TurnId>), Fault> {
        let turn_thread = |turn| Some(self.trace.codex_turns.get(turn)?.thread_id.clone());
        let thread = context
            .thread
            .or_else(|| turn_thread(context.turn.as_ref()?));
        let thread = thread.ok_or(Fault::NoToolContext)?;
        self.require_thread(&thread)?;
        let thread = match &context.turn {
            Some(turn) => self.require_turn(|| "tool call start".into(), turn, &thread)?,
            None => thread,
        };
        Ok((thread, context.turn))
    }

    /// Binds a model-visible call to its tool. A second tool for it is kept, but not linked.
    fn claim_call(
        &mut self,
        tool: &ToolCallId,
        call: Option<&CallId>,
    ) -> Result<Option<CallNumber>, Fault> {
        let Some(call) = call else {
            return Ok(None);
        };
        let number = self.conversation.call_number(call);
        let owner = &mut self.conversation.call(number).tool;
        if owner.is_some() {
            let fault = Fault::DuplicateToolOfCall(call.clone());
            return self.tolerate(fault).map(|()| None);
        }
        *owner = Some(tool.clone());
        Ok(Some(number))
    }

    fn requester(
        &mut self,
        thread: &ThreadId,
        requester: Requester,
    ) -> Result<ToolRequester, Fault> {
        match requester {
            Requester::Model => Ok(ToolRequester::Model),
            Requester::CodeCell { runtime_cell_id } => {
                let cell = self.bound_cell("code-mode nested tool", thread, &runtime_cell_id);
                let cell = self.tolerated(cell)?;
                Ok(match cell {
                    Some(code_cell_id) => ToolRequester::CodeCell { code_cell_id },
                    None => ToolRequester::Model,
                })
            }
        }
    }

    /// Reads what a call asked for: input to a terminal, or a wait for a cell.
    fn read_invocation(
        &mut self,
        tool: &ToolCallId,
        thread: &ThreadId,
        payload: &PayloadRef,
        is_write: bool,
    ) -> Result<(), Fault> {
        let read = self.with_json(payload, |reducer, value| {
            let operation = match is_write {
                // In schema 2 a call that cannot be read, or of another tool of the name, is a plain one.
                true if reducer.schema.has_ids() => OperationStart::of_write_call(value, payload)
                    .ok()
                    .filter(|_| value.get("tool_namespace").is_none_or(Json::is_null)),
                true => reducer.tolerated(OperationStart::of_write_call(value, payload))?,
                false => None,
            };
            let waits_for = match value.get_str("tool_name") {
                // Schema 3 says which cell it found.
                Some("wait") if reducer.schema < Schema::Three => {
                    reducer.tolerated(waited_cell(value, payload))?
                }
                _ => None,
            };
            Ok(ParsedInvocation {
                operation,
                waits_for,
            })
        });
        let Some(invocation) = self.tolerated(read)? else {
            return Ok(());
        };
        if let Some(start) = invocation.operation {
            let started = self.start_operation(tool, start, payload.raw_payload_id.clone());
            if let Some(operation) = self.tolerated(started)? {
                self.set_operation(tool, operation);
            }
        }
        if let Some(cell) = invocation.waits_for {
            self.wait_for_cell(thread, &cell.into(), tool);
        }
        Ok(())
    }

    /// Links what the model already saw of a call that is dispatched only now.
    fn attach_known_items(&mut self, thread: &ThreadId, call: CallNumber) {
        let thread = self.thread_number(thread);
        for is_kind in [ItemKind::is_call, ItemKind::is_output] {
            for item in self.conversation.items_of_call(thread, call, is_kind) {
                if self.conversation.set_link(item, ItemLink::Tool) {
                    self.attach_to_tool(item, call);
                }
            }
        }
    }

    /// Links one item to the tool of its call.
    pub(super) fn attach_to_tool(&mut self, item: ItemId, call: CallNumber) {
        let Some(tool_id) = self.conversation.call(call).tool.clone() else {
            return;
        };
        let Some(tool) = self.trace.tool_calls.get_mut(&tool_id) else {
            return;
        };
        let seen = self.conversation.item(item);
        if seen.kind.is_call() {
            tool.model_visible_call_item_ids.push(item);
            let by_inference = |by: &Producer| matches!(by, Producer::Inference { .. });
            if self.schema.has_ids() || seen.produced_by.iter().any(by_inference) {
                self.conversation.call(call).unlinked.push(item);
            }
            self.link_inferences(call);
        } else {
            tool.model_visible_output_item_ids.push(item);
            let producer = Producer::Tool {
                tool_call_id: tool_id.clone(),
            };
            self.conversation.add_producer(item, &producer);
        }
        self.sync_observation(&tool_id);
    }

    /// Links the tool of a call to the inferences whose responses asked for it.
    pub(super) fn link_inferences(&mut self, call: CallNumber) {
        let mut waiting = std::mem::take(&mut self.conversation.call(call).unlinked);
        let Some(tool) = self.conversation.call(call).tool.clone() else {
            return;
        };
        // In schema 1 an item is in one response, and linked once.
        let may_come_again = self.schema.has_ids();
        waiting.retain(|&item| {
            let mut is_linked = false;
            for inference in self.responses.of_item(item) {
                if let Some(inference) = self.trace.inference_calls.get_mut(inference) {
                    push_new(&mut inference.tool_call_ids_started_by_response, &tool);
                }
                is_linked = true;
            }
            !is_linked || may_come_again
        });
        self.conversation.call(call).unlinked = waiting;
    }

    /// Writes into a tool's operation how the model saw it.
    pub(super) fn sync_observation(&mut self, tool: &ToolCallId) {
        let Some(tool) = self.trace.tool_calls.get(tool) else {
            return;
        };
        let (calls, outputs) = (
            &tool.model_visible_call_item_ids,
            &tool.model_visible_output_item_ids,
        );
        let operation = tool
            .terminal_operation_id
            .and_then(|operation| self.trace.terminal_operations.get_mut(&operation));
        if let Some(operation) = operation
            && !(calls.is_empty() && outputs.is_empty())
        {
            operation.model_observations = vec![ModelObservation {
                call_item_ids: calls.clone(),
                output_item_ids: outputs.clone(),
                source: ObservationSource::DirectToolCall,
            }];
        }
    }

    fn set_operation(&mut self, tool: &ToolCallId, operation: OperationId) {
        if let Some(tool) = self.trace.tool_calls.get_mut(tool) {
            tool.terminal_operation_id = Some(operation);
            tool.summary = Summary::terminal(operation);
        }
    }

    fn correlate(&mut self, tool: ToolCallId, mcp_call: McpCallId) -> Result<(), Fault> {
        match self.trace.tool_calls.get_mut(&tool) {
            None => Err(Fault::UnknownCorrelation(tool)),
            Some(call) if call.mcp_call_id.is_some() => Err(Fault::DuplicateCorrelation(tool)),
            Some(call) => {
                call.mcp_call_id = Some(mcp_call);
                Ok(())
            }
        }
    }

    fn runtime_started(
        &mut self,
        tool_id: ToolCallId,
        kind: Option<ToolKind>,
        payload: PayloadRef,
    ) -> Result<(), Fault> {
        let is_new = self.schema.has_ids();
        let tool = self.add_runtime_payload("tool call runtime start", &tool_id, &payload)?;
        if let (true, Some(kind)) = (is_new, kind) {
            tool.kind = kind;
        }
        let runs_process = matches!(tool.kind, ToolKind::ExecCommand | ToolKind::WriteStdin);
        let is_agent = matches!(
            tool.kind,
            ToolKind::SendMessage | ToolKind::AssignAgentTask | ToolKind::CloseAgent
        );
        if runs_process && tool.terminal_operation_id.is_some() {
            self.expect_file(&payload);
            return Err(Fault::SecondOperation(tool_id));
        }
        if runs_process {
            let is_write = tool.kind == ToolKind::WriteStdin;
            let start = self.with_json(&payload, |_, value| {
                OperationStart::of_runtime(value, &payload, is_write)
            })?;
            let id = payload.raw_payload_id.clone();
            let operation = self.start_operation(&tool_id, start, id)?;
            self.set_operation(&tool_id, operation);
            self.sync_observation(&tool_id);
        } else if is_agent {
            self.with_json(&payload, |reducer, value| {
                reducer.agent_begun(&tool_id, value, &payload)
            })?;
        } else if is_new {
            let checked = self.with_json(&payload, |_, _| Ok(()));
            checked.map_err(|fault| match fault {
                Fault::ParsePayload { id, .. } => Fault::InvalidPayload(id),
                fault => fault,
            })?;
        } else {
            self.expect_file(&payload);
        }
        Ok(())
    }

    fn runtime_ended(
        &mut self,
        tool_id: ToolCallId,
        status: ExecutionStatus,
        payload: PayloadRef,
    ) -> Result<(), Fault> {
        let is_new = self.schema.has_ids();
        let tool = self.add_runtime_payload("tool call runtime end", &tool_id, &payload);
        let (operation, is_mcp) = match tool {
            Ok(tool) => (
                tool.terminal_operation_id,
                // Only schema 2 has such calls, and what they answer is their servers'.
                is_new && matches!(tool.kind, ToolKind::Mcp { .. }),
            ),
            Err(fault) => {
                self.expect_file(&payload);
                return Err(fault);
            }
        };
        let ended = self.with_json(&payload, |reducer, value| {
            if let Some(operation) = operation {
                reducer.end_operation(operation, status, Some((value, &payload)))?;
            }
            if is_mcp {
                Ok(())
            } else {
                reducer.agent_ended(&tool_id, value, &payload)
            }
        });
        if let Some(operation) = operation
            && ended.is_err()
            && !self.is_strict()
        {
            // The end is known even if its payload is missing.
            self.close_operation(operation, status);
            if payload.is_unrecorded() {
                self.note_operation_payload(operation, &payload);
            }
        }
        ended
    }

    fn add_runtime_payload(
        &mut self,
        what: &'static str,
        tool: &ToolCallId,
        payload: &PayloadRef,
    ) -> Result<&mut ToolCall, Fault> {
        let Some(call) = self.trace.tool_calls.get_mut(tool) else {
            return Err(Fault::UnknownTool {
                what,
                tool: tool.clone(),
            });
        };
        push_new(&mut call.raw_runtime_payload_ids, &payload.raw_payload_id);
        Ok(call)
    }

    fn tool_ended(
        &mut self,
        tool_id: ToolCallId,
        status: ExecutionStatus,
        payload: Option<PayloadRef>,
    ) -> Result<(), Fault> {
        let Some(tool) = self.trace.tool_calls.get_mut(&tool_id) else {
            if let Some(payload) = &payload {
                self.expect_file(payload);
            }
            return Err(Fault::UnknownTool {
                what: "tool call end",
                tool: tool_id,
            });
        };
        self.now.close(&mut tool.execution, status);
        tool.raw_result_payload_id = payload
            .as_ref()
            .map(|payload| payload.raw_payload_id.clone());
        let operation = tool
            .terminal_operation_id
            .filter(|_| tool.raw_runtime_payload_ids.is_empty());
        let ended = match (operation, &payload) {
            (Some(operation), Some(payload)) => self.with_json(payload, |reducer, value| {
                reducer.end_operation(operation, status, Some((value, payload)))
            }),
            (Some(operation), None) => self.end_operation(operation, status, None),
            (None, Some(payload)) => {
                self.expect_file(payload);
                Ok(())
            }
            (None, None) => Ok(()),
        };
        if let (Err(_), Some(operation), false) = (&ended, operation, self.is_strict()) {
            self.close_operation(operation, status);
        }
        if let Some(payload) = &payload {
            self.edges.add_result(&tool_id, &payload.raw_payload_id);
        }
        ended
    }
}

/// The cell that a wait names.
fn waited_cell(invocation: &Json<'_>, payload: &PayloadRef) -> Result<String, Fault> {
    let wrong = |wrong| Fault::Wait {
        payload: payload.raw_payload_id.clone(),
        wrong,
    };
    let arguments = function_arguments(invocation)
        .ok_or_else(|| wrong("did not contain function arguments"))?;
    let arguments =
        Scanner::parse(arguments.as_bytes()).map_err(|_| wrong("had invalid JSON arguments"))?;
    let cell = arguments.get_str("cell_id");
    Ok(cell
        .ok_or_else(|| wrong("did not contain cell_id"))?
        .to_owned())
}
