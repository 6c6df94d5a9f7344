//! Terminal operations and the processes that they share.

use crate::format::{ExecutionStatus, PayloadRef};
use crate::ids::{OperationId, PayloadId, TerminalId, ThreadId, ToolCallId};
use crate::json::{Json, Scanner, compact};
use crate::model::{
    ExecutionWindow, OperationKind, TerminalOperation, TerminalRequest, TerminalResult,
    TerminalSession,
};

use super::fault::Fault;
use super::reducer::Reducer;
use super::tools::{function_arguments, push_new};

/// What is known of an operation when it begins.
pub(super) struct OperationStart {
    terminal: Option<TerminalId>,
    kind: OperationKind,
    request: TerminalRequest,
}

impl OperationStart {
    /// From the model's call of `write_stdin`, which may hold anything.
    pub(super) fn of_write_call(
        invocation: &Json<'_>,
        payload: &PayloadRef,
    ) -> Result<Option<Self>, Fault> {
        let wrong = |wrong| terminal_fault("write_stdin call", payload, wrong);
        if invocation.get_str("tool_name") != Some("write_stdin") {
            return Err(wrong("names another tool"));
        }
        let arguments = function_arguments(invocation)
            .ok_or_else(|| wrong("did not contain function arguments"))?;
        let arguments = Scanner::parse(arguments.as_bytes())
            .map_err(|_| wrong("had invalid JSON arguments"))?;
        let session = match arguments.get("session_id") {
            Some(Json::String(id)) if !id.is_empty() => id.to_string(),
            Some(Json::Number(digits)) => compact(&Json::Number(digits)),
            _ => return Err(wrong("did not contain session_id")),
        };
        let chars = match arguments.get("chars") {
            None => "",
            Some(chars) => chars.as_str().ok_or_else(|| wrong("had invalid chars"))?,
        };
        let limit = |key| optional(&arguments, key, Json::as_integer);
        let limits = limit("yield_time_ms").zip(limit("max_output_tokens"));
        let (yield_time_ms, max_output_tokens) =
            limits.ok_or_else(|| wrong("had an invalid limit"))?;
        Ok(Some(Self {
            terminal: Some(session.into()),
            kind: OperationKind::WriteStdin,
            request: TerminalRequest::WriteStdin {
                stdin: chars.into(),
                yield_time_ms,
                max_output_tokens,
            },
        }))
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

/// What a payload says about the end of an operation.
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
            Some(terminal) => self.join_session(terminal, id, &thread, &window),
            None => Ok(()),
        };
        let joined = self.tolerated(joined)?;
        self.tools.operations += 1;
        let operation = TerminalOperation {
            operation_id: id,
            terminal_id: start.terminal.filter(|_| joined.is_some()),
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
            OperationKind::ExecCommand => exec_end(value, payload)?,
            OperationKind::WriteStdin => write_end(value, payload)?,
        };
        operation.result = Some(end.result);
        match (&operation.terminal_id, end.terminal) {
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
                let thread = tool.thread_id.clone();
                self.join_session(&terminal, id, &thread, &window)?;
                if let Some(operation) = self.trace.terminal_operations.get_mut(&id) {
                    operation.terminal_id = Some(terminal);
                }
                Ok(())
            }
        }
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

fn exec_end(value: &Json<'_>, payload: &PayloadRef) -> Result<OperationEnd, Fault> {
    let wrong = || terminal_fault("end", payload, "did not contain the output of a command");
    command_output(value).ok_or_else(wrong)
}

fn write_end(value: &Json<'_>, payload: &PayloadRef) -> Result<OperationEnd, Fault> {
    if let Some(end) = command_output(value) {
        return Ok(end);
    }
    let result = match value.get_str("type") {
        Some("direct_response") => value
            .get("response_item")
            .map(|item| text_result(output_text(item.get("output"), item))),
        Some("code_mode_response") => value.get("value").map(code_mode_result),
        Some("error") => value.get_str("error").map(|error| TerminalResult {
            exit_code: None,
            stdout: String::new(),
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
fn command_output(value: &Json<'_>) -> Option<OperationEnd> {
    let text = |key| value.get_str(key).map(str::to_owned);
    let process = optional(value, "process_id", Json::as_str)?;
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
        let output = value.get_str("output")?;
        Some(TerminalResult {
            exit_code: optional(value, "exit_code", Json::as_integer)?,
            stdout: output.into(),
            stderr: String::new(),
            formatted_output: Some(output.into()),
            original_token_count: optional(value, "original_token_count", Json::as_integer)?,
            chunk_id: optional(value, "chunk_id", |id| id.as_str().map(str::to_owned))?,
        })
    };
    structured().unwrap_or_else(|| text_result(output_text(Some(value), value)))
}

fn text_result(text: String) -> TerminalResult {
    TerminalResult {
        exit_code: None,
        stdout: text.clone(),
        stderr: String::new(),
        formatted_output: Some(text),
        original_token_count: None,
        chunk_id: None,
    }
}

/// The text of an output, or all of `whole` where it has none.
fn output_text(output: Option<&Json<'_>>, whole: &Json<'_>) -> String {
    match output {
        Some(Json::String(text)) => text.to_string(),
        Some(Json::Array(parts)) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part.get_str("text"))
                .collect();
            if texts.is_empty() {
                compact(whole)
            } else {
                texts.join("\n")
            }
        }
        None | Some(Json::Null) => compact(whole),
        Some(other) => compact(other),
    }
}
