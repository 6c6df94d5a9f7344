//! Records the tool calls of a thread and the commands and patches that they run.
//!
//! Readers reject a second start, and an end without a start. So this module keeps the open calls, and records only
//! what fits what was recorded before.

use std::borrow::Cow;
use std::collections::HashMap;

use codex_protocol::{
    EventMsg, ExecCommandBeginEvent, ExecCommandEndEvent, ExecCommandSource, ExecCommandStatus,
    FunctionCallOutputBody, LocalShellAction, PatchApplyStatus, ResponseItem,
};
use codex_rollout_trace::format::{
    Event, ExecutionStatus, PayloadKind, Requester, Summary, ToolKind,
};
use serde::Serialize;
use serde_json::Value;

use crate::agents::AgentCall;
use crate::cells::{self, NestedPlace, weight_of_value};
use crate::clock::now_unix_ms;
use crate::payloads::{
    CommandBegan, CommandEnded, ToolInput, ToolInvocation, ToolResult, weight_of,
};
use crate::thread_recorder::ThreadRecorder;

/// The error of a call that was stopped with its turn. The model is told in other words, or not at all.
pub const STOPPED_CALL: &str = "the turn was stopped";

/// The open calls by their ids.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls(HashMap<String, OpenCall>);

#[derive(Debug)]
struct OpenCall {
    kind: ToolKind,
    /// The command or patch that the call runs.
    runtime: Runtime,
    /// The tool has replied, or never will.
    is_answered: bool,
    verdict: CallVerdict,
}

/// The command or patch of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runtime {
    None,
    Running,
    Ended,
}

/// What the events of a call say about its success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallVerdict {
    Success,
    /// The tool reports a failure.
    Unsuccessful,
    /// The tool's output is an error text.
    Error,
}

impl OpenCalls {
    pub(crate) fn dispatched(&mut self, trace: &ThreadRecorder, turn: &str, item: &ResponseItem) {
        // A call that runs a script is recorded as a cell.
        if !cells::is_script(item) {
            self.started(trace, turn, item, None);
        }
    }

    /// A call of a script.
    pub(crate) fn nested_dispatched(
        &mut self,
        trace: &ThreadRecorder,
        turn: &str,
        item: &ResponseItem,
        place: NestedPlace,
    ) {
        self.started(trace, turn, item, Some(place));
    }

    fn started(
        &mut self,
        trace: &ThreadRecorder,
        turn: &str,
        item: &ResponseItem,
        place: Option<NestedPlace>,
    ) {
        let Some(call) = DispatchedCall::from_item(item) else {
            return;
        };
        let (id, kind, weight) = (call.id.clone(), call.kind(), weight_of(item));
        let open = OpenCall {
            kind: kind.clone(),
            runtime: Runtime::None,
            is_answered: false,
            verdict: CallVerdict::Success,
        };
        self.0.insert(id, open);
        trace.record(turn, weight, move |payloads| {
            let preview = call.input.text();
            let summary = Summary::of_call(call.namespace.as_deref(), &call.name, &preview);
            let invocation = ToolInvocation {
                tool_name: call.name,
                tool_namespace: call.namespace,
                payload: call.input,
            };
            Event::ToolCallStarted {
                tool_call_id: call.id.as_str().into(),
                model_visible_call_id: place.is_none().then(|| call.id.into()),
                code_mode_runtime_tool_id: place.map(|place| place.tool_id()),
                requester: place.map_or(Requester::Model, |place| place.requester()),
                kind,
                summary,
                invocation_payload: Some(payloads.add(PayloadKind::ToolInvocation, &invocation)),
            }
        });
    }

    /// Whether a call was recorded and has no output yet.
    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.0.get(id).is_some_and(|call| !call.is_answered)
    }

    pub(crate) fn event(&mut self, trace: &ThreadRecorder, turn: &str, msg: &EventMsg) {
        match msg {
            EventMsg::ExecCommandBegin(begin) => self.command_began(trace, turn, begin),
            EventMsg::ExecCommandEnd(end) => self.command_ended(trace, turn, end),
            EventMsg::PatchApplyBegin(begin) => {
                let (id, weight) = (&begin.call_id, weight_of_changes(begin.changes.len()));
                self.began(trace, turn, id, &ToolKind::ApplyPatch, weight, || {
                    begin.clone()
                });
            }
            EventMsg::PatchApplyEnd(end) => {
                let status = match end.status {
                    PatchApplyStatus::Completed => ExecutionStatus::Completed,
                    PatchApplyStatus::Failed => ExecutionStatus::Failed,
                    PatchApplyStatus::Declined => ExecutionStatus::Cancelled,
                };
                if status != ExecutionStatus::Completed {
                    self.judge(&end.call_id, CallVerdict::Error);
                }
                let (id, weight) = (&end.call_id, weight_of_changes(end.changes.len()));
                self.runtime_ended(trace, turn, id, status, weight, || end.clone());
            }
            EventMsg::DynamicToolCallResponse(response) if !response.success => {
                self.judge(&response.call_id, CallVerdict::Unsuccessful);
            }
            _ => self.agent_event(trace, turn, msg),
        }
    }

    fn agent_event(&mut self, trace: &ThreadRecorder, turn: &str, msg: &EventMsg) {
        let Some(call) = AgentCall::from_event(msg) else {
            return;
        };
        let (id, payload) = (call.id, call.payload);
        let weight = payload["prompt"].as_str().map_or(0, str::len);
        match call.ended {
            None => self.began(trace, turn, &id, &call.kind, weight, || payload),
            Some(status) => {
                if let Some(open) = self.0.get_mut(&id).filter(|_| !call.has_begun) {
                    open.runtime = Runtime::Running;
                }
                self.runtime_ended(trace, turn, &id, status, weight, || payload);
            }
        }
    }

    fn command_began(&mut self, trace: &ThreadRecorder, turn: &str, begin: &ExecCommandBeginEvent) {
        if begin.source != ExecCommandSource::UserShell {
            let (id, kind) = (&begin.call_id, ToolKind::ExecCommand);
            let weight = begin.command.iter().map(String::len).sum();
            self.began(trace, turn, id, &kind, weight, || {
                CommandBegan::from_event(begin, now_unix_ms())
            });
        }
    }

    fn command_ended(&mut self, trace: &ThreadRecorder, turn: &str, end: &ExecCommandEndEvent) {
        let status = match end.status {
            ExecCommandStatus::Completed => ExecutionStatus::Completed,
            ExecCommandStatus::Failed => ExecutionStatus::Failed,
            ExecCommandStatus::Declined => ExecutionStatus::Cancelled,
        };
        // A terminal that continues reports the end of its command; other tools report an error.
        if status != ExecutionStatus::Completed && end.source == ExecCommandSource::Agent {
            self.judge(&end.call_id, CallVerdict::Error);
        }
        let text = [&end.stdout, &end.stderr, &end.formatted_output];
        let weight = text.into_iter().map(String::len).sum::<usize>();
        let weight = weight + end.aggregated_output.size();
        self.runtime_ended(trace, turn, &end.call_id, status, weight, || {
            CommandEnded::from_event(end, now_unix_ms())
        });
    }

    fn judge(&mut self, id: &str, verdict: CallVerdict) {
        if let Some(call) = self.0.get_mut(id) {
            call.verdict = verdict;
        }
    }

    /// Records the start of a call's command or patch. A patch inside a shell command is not recorded: its call
    /// runs a command.
    fn began<P: Serialize + Send + 'static>(
        &mut self,
        trace: &ThreadRecorder,
        turn: &str,
        id: &str,
        kind: &ToolKind,
        weight: usize,
        payload: impl FnOnce() -> P,
    ) {
        let call = self.0.get_mut(id);
        let Some(call) = call.filter(|call| call.kind == *kind && call.runtime == Runtime::None)
        else {
            return;
        };
        call.runtime = Runtime::Running;
        let (tool_call_id, payload) = (id.into(), payload());
        trace.record(turn, weight, move |payloads| {
            Event::ToolCallRuntimeStarted {
                tool_call_id,
                kind: None,
                runtime_payload: payloads.add(PayloadKind::ToolRuntimeEvent, &payload),
            }
        });
    }

    fn runtime_ended<P: Serialize + Send + 'static>(
        &mut self,
        trace: &ThreadRecorder,
        turn: &str,
        id: &str,
        status: ExecutionStatus,
        weight: usize,
        payload: impl FnOnce() -> P,
    ) {
        let call = self.0.get_mut(id);
        let Some(call) = call.filter(|call| call.runtime == Runtime::Running) else {
            return;
        };
        call.runtime = Runtime::Ended;
        if call.is_answered {
            self.0.remove(id);
        }
        let (tool_call_id, payload) = (id.into(), payload());
        trace.record(turn, weight, move |payloads| Event::ToolCallRuntimeEnded {
            tool_call_id,
            status,
            runtime_payload: payloads.add(PayloadKind::ToolRuntimeEvent, &payload),
        });
    }

    pub(crate) fn ended(
        &mut self,
        trace: &ThreadRecorder,
        turn: &str,
        output: &ResponseItem,
        error: Option<&str>,
    ) {
        let Some(id) = call_id(output) else {
            return;
        };
        let Some(call) = self.0.get_mut(id) else {
            return;
        };
        call.is_answered = true;
        let verdict = match error {
            Some(_) => CallVerdict::Error,
            None => call.verdict,
        };
        if call.runtime != Runtime::Running {
            self.0.remove(id);
        }
        let (status, result) = match verdict {
            CallVerdict::Success => (ExecutionStatus::Completed, direct(output)),
            CallVerdict::Unsuccessful => (ExecutionStatus::Failed, direct(output)),
            CallVerdict::Error => {
                let error = error
                    .map_or_else(|| text_of(output), Cow::Borrowed)
                    .into_owned();
                (ExecutionStatus::Failed, ToolResult::Error { error })
            }
        };
        record_end(trace, turn, id, status, result);
    }

    /// The end of a call of a script.
    pub(crate) fn nested_ended(
        &mut self,
        trace: &ThreadRecorder,
        turn: &str,
        id: &str,
        result: Result<&Value, &str>,
    ) {
        let Some(call) = self.0.get_mut(id) else {
            return;
        };
        call.is_answered = true;
        let is_failure = call.verdict != CallVerdict::Success;
        if call.runtime != Runtime::Running {
            self.0.remove(id);
        }
        let (status, result) = match result {
            Ok(value) => {
                let status = if is_failure {
                    ExecutionStatus::Failed
                } else {
                    ExecutionStatus::Completed
                };
                let value = value.clone();
                (status, ToolResult::CodeModeResponse { value })
            }
            Err(error) => {
                let error = error.to_owned();
                (ExecutionStatus::Failed, ToolResult::Error { error })
            }
        };
        record_end(trace, turn, id, status, result);
    }

    /// Ends the turn's calls that have no output. If a command was stopped with its turn, that is the result;
    /// commands that continue may still end.
    pub(crate) fn end_turn(&mut self, trace: &ThreadRecorder, turn: &str) {
        for (id, call) in &self.0 {
            if call.runtime == Runtime::Ended {
                let error = STOPPED_CALL.to_owned();
                record_end(
                    trace,
                    turn,
                    id,
                    ExecutionStatus::Failed,
                    ToolResult::Error { error },
                );
            }
        }
        self.0.retain(|_, call| call.runtime == Runtime::Running);
        self.0.values_mut().for_each(|call| call.is_answered = true);
    }
}

fn record_end(
    trace: &ThreadRecorder,
    turn: &str,
    id: &str,
    status: ExecutionStatus,
    result: ToolResult,
) {
    let weight = match &result {
        ToolResult::DirectResponse { response_item } => weight_of(response_item),
        ToolResult::CodeModeResponse { value } => weight_of_value(value),
        ToolResult::Error { error } => error.len(),
    };
    let tool_call_id = id.into();
    trace.record(turn, weight, move |payloads| Event::ToolCallEnded {
        tool_call_id,
        status,
        result_payload: Some(payloads.add(PayloadKind::ToolResult, &result)),
    });
}

/// A tool call as the model sent it.
struct DispatchedCall {
    id: String,
    name: String,
    namespace: Option<String>,
    input: ToolInput,
}

impl DispatchedCall {
    fn from_item(item: &ResponseItem) -> Option<Self> {
        Some(match item {
            ResponseItem::FunctionCall {
                name,
                namespace,
                arguments,
                call_id,
                ..
            } => Self {
                id: call_id.clone(),
                name: name.clone(),
                namespace: namespace.clone(),
                input: ToolInput::Function {
                    arguments: arguments.clone(),
                },
            },
            ResponseItem::CustomToolCall {
                call_id,
                name,
                input,
                ..
            } => Self {
                id: call_id.clone(),
                name: name.clone(),
                namespace: None,
                input: ToolInput::Custom {
                    input: input.clone(),
                },
            },
            ResponseItem::LocalShellCall {
                call_id,
                action: LocalShellAction::Exec(action),
                id,
                ..
            } => Self {
                id: call_id
                    .as_ref()
                    .or(id.as_ref())
                    .cloned()
                    .unwrap_or_default(),
                name: "local_shell".to_owned(),
                namespace: None,
                input: ToolInput::LocalShell {
                    command: action.command.clone(),
                    workdir: action.working_directory.clone(),
                    timeout_ms: action.timeout_ms,
                },
            },
            ResponseItem::ToolSearchCall {
                call_id, arguments, ..
            } => Self {
                id: call_id.clone()?,
                name: "tool_search".to_owned(),
                namespace: None,
                input: ToolInput::ToolSearch {
                    arguments: arguments.clone(),
                },
            },
            _ => return None,
        })
    }

    /// Readers parse calls that write to a terminal separately, and fail if they cannot.
    fn kind(&self) -> ToolKind {
        match (ToolKind::of_tool(&self.name), &self.input) {
            (ToolKind::WriteStdin, ToolInput::Function { arguments }) if types(arguments) => {
                ToolKind::WriteStdin
            }
            (ToolKind::WriteStdin, _) => ToolKind::Other {
                name: self.name.clone(),
            },
            (kind, _) => kind,
        }
    }
}

impl ToolInput {
    /// The text for the preview.
    fn text(&self) -> String {
        match self {
            Self::Function { arguments } => arguments.clone(),
            Self::Custom { input } => input.clone(),
            Self::LocalShell { command, .. } => command.join(" "),
            Self::ToolSearch { arguments } => match arguments.get("query") {
                Some(Value::String(query)) => query.clone(),
                _ => arguments.to_string(),
            },
        }
    }
}

/// Whether these are the arguments of a call that writes to a terminal.
fn types(arguments: &str) -> bool {
    let Ok(arguments) = serde_json::from_str::<Value>(arguments) else {
        return false;
    };
    let session = match &arguments["session_id"] {
        Value::String(id) => !id.is_empty(),
        id => id.is_number(),
    };
    let chars = &arguments["chars"];
    let counts = [&arguments["yield_time_ms"], &arguments["max_output_tokens"]];
    session
        && (chars.is_string() || arguments.get("chars").is_none())
        && counts.iter().all(|count| count.is_null() || count.is_u64())
}

fn direct(output: &ResponseItem) -> ToolResult {
    ToolResult::DirectResponse {
        response_item: output.clone(),
    }
}

fn call_id(output: &ResponseItem) -> Option<&str> {
    match output {
        ResponseItem::FunctionCallOutput { call_id, .. }
        | ResponseItem::CustomToolCallOutput { call_id, .. } => Some(call_id),
        ResponseItem::ToolSearchOutput { call_id, .. } => call_id.as_deref(),
        _ => None,
    }
}

fn text_of(output: &ResponseItem) -> Cow<'_, str> {
    match output {
        ResponseItem::FunctionCallOutput {
            output: FunctionCallOutputBody::Text(text),
            ..
        }
        | ResponseItem::CustomToolCallOutput {
            output: FunctionCallOutputBody::Text(text),
            ..
        } => text.as_str(),
        _ => Cow::Borrowed(""),
    }
}

/// The approximate memory size of a patch. The texts are not measured, as the turn waits.
fn weight_of_changes(files: usize) -> usize {
    files * 4096
}
