//! Terminal operations and the processes that they share.

use super::fault::Fault;
use super::reducer::Reducer;
use super::tool_records::{function_arguments, push_new};
use crate::format::{ExecutionStatus, PayloadKind, PayloadRef, Schema};
use crate::ids::{OperationId, PayloadId, TerminalId, ThreadId, ToolCallId};
use crate::json::{Json, Scanner, compact};
use crate::model::{
    ExecutionWindow, OperationKind, TerminalOperation, TerminalRequest, TerminalResult,
    TerminalSession, Text,
};

/// What is known of an operation when it begins.
pub(super) struct OperationStart {
    /// Its process.
    terminal: Option<TerminalId>,
    kind: OperationKind,
    request: TerminalRequest,
}

impl OperationStart {
    /// From the model's call of `write_stdin`, which may hold anything.
    pub(super) fn of_write_call(
        invocation: &Json<'_>,
        payload: &PayloadRef,
    ) -> Result<Self, Fault> {
        let wrong = |wrong| terminal_fault("write_stdin call", payload, wrong);
        if invocation.get_str("tool_name") != Some("write_stdin") {
            return Err(wrong("names another tool"));
        }
        let arguments = function_arguments(invocation)
            .ok_or_else(|| wrong("did not contain function arguments"))?;
        let arguments = Scanner::parse(arguments.as_bytes())
            .map_err(|_| wrong("had invalid JSON arguments"))?;
        let session = session_id(&arguments).ok_or_else(|| wrong("did not contain session_id"))?;
        let chars = match arguments.get("chars") {
            None => "",
            Some(chars) => chars.as_str().ok_or_else(|| wrong("had invalid chars"))?,
        };
        let limit = |key| optional(&arguments, key, Json::as_integer);
        let limits = limit("yield_time_ms").zip(limit("max_output_tokens"));
        let (yield_time_ms, max_output_tokens) =
            limits.ok_or_else(|| wrong("had an invalid limit"))?;
        Ok(Self {
            terminal: Some(session.into()),
            kind: OperationKind::WriteStdin,
            request: TerminalRequest::WriteStdin {
                stdin: chars.into(),
                yield_time_ms,
                max_output_tokens,
            },
        })
    }

    /// From the payload of a runtime begin.
    pub(super) fn of_runtime(
        begin: &Json<'_>,
        payload: &PayloadRef,
        is_write: bool,
    ) -> Result<Self, Fault> {
        let wrong = |wrong| terminal_fault("begin", payload, wrong);
        let words = |command: &Json<'_>| {
            let word = |word: &Json<'_>| word.as_str().map(str::to_owned);
            command.as_array()?.iter().map(word).collect()
        };
        let command: Vec<String> = begin
            .get("command")
            .and_then(words)
            .ok_or_else(|| wrong("did not contain a command"))?;
        let cwd = begin
            .get_str("cwd")
            .ok_or_else(|| wrong("did not contain a cwd"))?;
        let text = |key| optional(begin, key, |value| value.as_str().map(str::to_owned));
        let process = text("process_id").ok_or_else(|| wrong("had an invalid process_id"))?;
        let input =
            text("interaction_input").ok_or_else(|| wrong("had an invalid interaction_input"))?;
        let (kind, request) = if is_write {
            let request = TerminalRequest::WriteStdin {
                stdin: input.unwrap_or_default(),
                yield_time_ms: None,
                max_output_tokens: None,
            };
            (OperationKind::WriteStdin, request)
        } else {
            let request = TerminalRequest::ExecCommand {
                display_command: command.join(" "),
                command,
                cwd: cwd.into(),
                yield_time_ms: None,
                max_output_tokens: None,
            };
            (OperationKind::ExecCommand, request)
        };
        Ok(Self {
            terminal: process.map(TerminalId::from),
            kind,
            request,
        })
    }
}

/// The end of an operation, as its payload describes it.
struct OperationEnd {
    terminal: Option<TerminalId>,
    result: TerminalResult,
}

impl Reducer {
    pub(super) fn start_operation(
        &mut self,
        tool: &ToolCallId,
        start: OperationStart,
        payload: PayloadId,
    ) -> Result<OperationId, Fault> {
        let Some(thread) = self
            .trace
            .tool_calls
            .get(tool)
            .map(|tool| tool.thread_id.clone())
        else {
            return Err(Fault::UnknownTool {
                what: "terminal operation",
                tool: tool.clone(),
            });
        };
        let window = self.now.open();
        let id = OperationId::new(self.tools.operations + 1);
        let joined = match &start.terminal {
            Some(process) => {
                let joined = self.join_process(process, id, start.kind, &thread, &window);
                self.tolerated(joined)?
            }
            None => None,
        };
        self.tools.operations += 1;
        let operation = TerminalOperation {
            operation_id: id,
            terminal_id: joined,
            tool_call_id: tool.clone(),
            kind: start.kind,
            execution: window,
            request: start.request,
            result: None,
            model_observations: Vec::new(),
            raw_payload_ids: vec![payload],
        };
        self.trace.terminal_operations.insert(id, operation);
        Ok(id)
    }

    /// Puts an operation into the session of its process; gives the session.
    fn join_process(
        &mut self,
        process: &TerminalId,
        operation: OperationId,
        kind: OperationKind,
        thread: &ThreadId,
        window: &ExecutionWindow,
    ) -> Result<TerminalId, Fault> {
        let processes = &mut self.tools.processes;
        processes.of_operation.insert(operation, process.clone());
        let session = match self.schema {
            Schema::One => process.clone(),
            Schema::Two | Schema::Three => {
                let key = (thread.clone(), process.clone());
                let opened = || TerminalId::from(format!("terminal_session:{operation}"));
                let newest = processes.newest.entry(key).or_insert_with(opened);
                if kind == OperationKind::ExecCommand {
                    *newest = opened();
                }
                newest.clone()
            }
        };
        self.join_session(&session, operation, thread, window)?;
        Ok(session)
    }

    /// A call of `write_stdin` found its process: its operation belongs to the session of that.
    pub(super) fn stdin_target(
        &mut self,
        writer: ToolCallId,
        command: ToolCallId,
    ) -> Result<(), Fault> {
        let operation_of = |what, tool: ToolCallId| match self.trace.tool_calls.get(&tool) {
            Some(call) => Ok(call.terminal_operation_id),
            None => Err(Fault::UnknownTarget { what, tool }),
        };
        let writing = operation_of("call", writer)?;
        let started = operation_of("exec", command)?;
        let session = started
            .and_then(|operation| self.trace.terminal_operations.get(&operation))
            .and_then(|operation| operation.terminal_id.clone());
        let (Some(writing), Some(session)) = (writing, session) else {
            return Ok(());
        };
        let known = self.trace.terminal_operations.get(&writing);
        if known.and_then(|operation| operation.terminal_id.as_ref()) == Some(&session) {
            return Ok(());
        }
        self.leave_session(writing);
        let Some(operation) = self.trace.terminal_operations.get_mut(&writing) else {
            return Ok(());
        };
        operation.terminal_id = Some(session.clone());
        if let Some(session) = self.trace.terminal_sessions.get_mut(&session) {
            push_new(&mut session.operation_ids, &writing);
        }
        Ok(())
    }

    /// Takes an operation out of its session; one that only it was in is gone with it.
    fn leave_session(&mut self, operation: OperationId) {
        let operations = &self.trace.terminal_operations;
        let left = operations.get(&operation);
        let Some(left) = left.and_then(|operation| operation.terminal_id.clone()) else {
            return;
        };
        let Some(session) = self.trace.terminal_sessions.get_mut(&left) else {
            return;
        };
        session.operation_ids.retain(|other| *other != operation);
        if session.operation_ids.is_empty() {
            self.trace.terminal_sessions.remove(&left);
        }
    }

    fn join_session(
        &mut self,
        terminal: &TerminalId,
        operation: OperationId,
        thread: &ThreadId,
        window: &ExecutionWindow,
    ) -> Result<(), Fault> {
        let create = || TerminalSession {
            terminal_id: terminal.clone(),
            thread_id: thread.clone(),
            created_by_operation_id: operation,
            operation_ids: Vec::new(),
            execution: ExecutionWindow {
                ended_at_unix_ms: None,
                ended_seq: None,
                status: ExecutionStatus::Running,
                ..window.clone()
            },
        };
        let sessions = &mut self.trace.terminal_sessions;
        let session = sessions.entry(terminal.clone()).or_insert_with(create);
        if session.thread_id != *thread {
            return Err(Fault::TerminalThread {
                terminal: terminal.clone(),
                owner: session.thread_id.clone(),
                used: thread.clone(),
            });
        }
        // An operation joins once, so the last is the only one that it could be.
        if session.operation_ids.last() != Some(&operation) {
            session.operation_ids.push(operation);
        }
        Ok(())
    }

    /// Ends an operation without a word on what came out.
    pub(super) fn close_operation(&mut self, id: OperationId, status: ExecutionStatus) {
        if let Some(operation) = self.trace.terminal_operations.get_mut(&id) {
            self.now.close(&mut operation.execution, status);
        }
    }

    /// Notes a payload of an operation that cannot be read.
    pub(super) fn note_operation_payload(&mut self, id: OperationId, payload: &PayloadRef) {
        if let Some(operation) = self.trace.terminal_operations.get_mut(&id) {
            push_new(&mut operation.raw_payload_ids, &payload.raw_payload_id);
        }
    }

    pub(super) fn end_operation(
        &mut self,
        id: OperationId,
        status: ExecutionStatus,
        evidence: Option<(&Json<'_>, &PayloadRef)>,
    ) -> Result<(), Fault> {
        self.close_operation(id, status);
        let Some((value, payload)) = evidence else {
            return Ok(());
        };
        let Some(operation) = self.trace.terminal_operations.get_mut(&id) else {
            return Ok(());
        };
        push_new(&mut operation.raw_payload_ids, &payload.raw_payload_id);
        let end = match operation.kind {
            OperationKind::ExecCommand => exec_end(value, payload, self.schema)?,
            OperationKind::WriteStdin => write_end(value, payload, self.schema)?,
        };
        operation.result = Some(end.result);
        match (self.tools.processes.of_operation.get(&id), end.terminal) {
            (_, None) => Ok(()),
            (Some(from), Some(to)) if *from == to => Ok(()),
            (Some(from), Some(to)) => Err(Fault::TerminalChanged {
                tool: operation.tool_call_id.clone(),
                from: from.clone(),
                to,
            }),
            (None, Some(terminal)) => {
                let window = operation.execution.clone();
                let tool = operation.tool_call_id.clone();
                let Some(tool) = self.trace.tool_calls.get(&tool) else {
                    return Ok(());
                };
                let (thread, kind) = (tool.thread_id.clone(), operation.kind);
                let session = self.join_process(&terminal, id, kind, &thread, &window)?;
                if let Some(operation) = self.trace.terminal_operations.get_mut(&id) {
                    operation.terminal_id = Some(session);
                }
                Ok(())
            }
        }
    }
}

/// The process that a usable call of `write_stdin` names, with the arguments that schema 2 takes.
pub(crate) fn write_session_id(invocation: &Json<'_>) -> Option<String> {
    let payload = PayloadRef::numbered(0, PayloadKind::ToolInvocation);
    let start = OperationStart::of_write_call(invocation, &payload).ok()?;
    let is_own = invocation.get("tool_namespace").is_none_or(Json::is_null);
    Some(start.terminal?.as_str().to_owned()).filter(|_| is_own)
}

fn session_id(arguments: &Json<'_>) -> Option<String> {
    match arguments.get("session_id") {
        Some(Json::String(id)) if !id.is_empty() => Some(id.to_string()),
        Some(Json::Number(digits)) => Some(compact(&Json::Number(digits))),
        _ => None,
    }
}

fn terminal_fault(what: &'static str, payload: &PayloadRef, wrong: &'static str) -> Fault {
    Fault::Terminal {
        what,
        payload: payload.raw_payload_id.clone(),
        wrong,
    }
}

/// A member that may be absent or null; the outer none is a value of another type.
fn optional<'j, T>(
    value: &'j Json<'_>,
    key: &str,
    read: impl Fn(&'j Json<'j>) -> Option<T>,
) -> Option<Option<T>> {
    match value.get(key) {
        None | Some(Json::Null) => Some(None),
        Some(member) => read(member).map(Some),
    }
}

fn exec_end(value: &Json<'_>, payload: &PayloadRef, schema: Schema) -> Result<OperationEnd, Fault> {
    let wrong = || terminal_fault("end", payload, "did not contain the output of a command");
    command_output(value, schema).ok_or_else(wrong)
}

fn write_end(
    value: &Json<'_>,
    payload: &PayloadRef,
    schema: Schema,
) -> Result<OperationEnd, Fault> {
    if let Some(end) = command_output(value, schema) {
        return Ok(end);
    }
    let result = match value.get_str("type") {
        Some("direct_response") => value
            .get("response_item")
            .map(|item| text_result(output_text(item.get("output"), item))),
        Some("code_mode_response") => value.get("value").map(code_mode_result),
        Some("error") => value.get_string("error").map(|error| TerminalResult {
            exit_code: None,
            stdout: "".into(),
            stderr: error.into(),
            formatted_output: Some(error.into()),
            original_token_count: None,
            chunk_id: None,
        }),
        _ => None,
    };
    let wrong = || terminal_fault("end", payload, "did not contain a result of write_stdin");
    Ok(OperationEnd {
        terminal: None,
        result: result.ok_or_else(wrong)?,
    })
}

/// The protocol's end of a command.
fn command_output(value: &Json<'_>, schema: Schema) -> Option<OperationEnd> {
    let text = |key| value.get_string(key).map(Text::from);
    let process = optional(value, "process_id", Json::as_str)?;
    if schema.has_ids() {
        return Some(OperationEnd {
            terminal: process.map(TerminalId::from),
            result: TerminalResult {
                exit_code: Some(value.get("exit_code")?.as_integer()?),
                stdout: match value.get("aggregated_output") {
                    None => "".into(),
                    Some(output) => output.as_string()?.into(),
                },
                stderr: "".into(),
                formatted_output: None,
                original_token_count: None,
                chunk_id: None,
            },
        });
    }
    Some(OperationEnd {
        terminal: process.map(TerminalId::from),
        result: TerminalResult {
            exit_code: Some(value.get("exit_code")?.as_integer()?),
            stdout: text("stdout")?,
            stderr: text("stderr")?,
            formatted_output: Some(text("formatted_output")?),
            original_token_count: None,
            chunk_id: None,
        },
    })
}

fn code_mode_result(value: &Json<'_>) -> TerminalResult {
    let structured = || {
        let output = value.get_string("output")?;
        Some(TerminalResult {
            exit_code: optional(value, "exit_code", Json::as_integer)?,
            stdout: output.into(),
            stderr: "".into(),
            formatted_output: Some(output.into()),
            original_token_count: optional(value, "original_token_count", Json::as_integer)?,
            chunk_id: optional(value, "chunk_id", |id| id.as_str().map(str::to_owned))?,
        })
    };
    structured().unwrap_or_else(|| text_result(output_text(Some(value), value)))
}

fn text_result(text: Text) -> TerminalResult {
    TerminalResult {
        exit_code: None,
        stdout: text.clone(),
        stderr: "".into(),
        formatted_output: Some(text),
        original_token_count: None,
        chunk_id: None,
    }
}

/// The text of an output, or all of `whole` where it has none.
fn output_text(output: Option<&Json<'_>>, whole: &Json<'_>) -> Text {
    match output {
        Some(Json::String(text)) => text.into(),
        Some(Json::Array(parts)) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part.get_str("text"))
                .collect();
            if texts.is_empty() {
                compact(whole).into()
            } else {
                texts.join("\n").into()
            }
        }
        None | Some(Json::Null) => compact(whole).into(),
        Some(other) => compact(other).into(),
    }
}
