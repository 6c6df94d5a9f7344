//! `write_stdin`: writes input to a running command, or only returns its new output.

use std::time::Duration;

use codex_model_client::ToolSpec;
use codex_protocol::{EventMsg, TerminalInteractionEvent};
use codex_session_base::turn_rights::TurnRights;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::output::{read, wait};
use crate::arguments::{arguments, function};
use crate::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

/// How long a command has to react to input.
const INPUT_PAUSE: Duration = Duration::from_millis(100);
/// The shortest and the longest wait in milliseconds after input.
const INPUT_WAIT_MS: (u64, u64) = (250, 30_000);
/// The shortest wait in milliseconds without input.
const POLL_WAIT_MS: u64 = 5_000;

/// What ends a command in a terminal. Every turn may type it.
const INTERRUPT: &str = "\u{3}";

#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteStdinTool;

#[derive(Deserialize)]
struct WriteStdinArguments {
    session_id: i32,
    #[serde(default)]
    chars: String,
    #[serde(default)]
    yield_time_ms: Option<u64>,
    #[serde(default)]
    max_output_tokens: Option<u64>,
}

impl Tool for WriteStdinTool {
    fn spec(&self) -> ToolSpec {
        function(
            "write_stdin",
            "Types into a command that exec_command left running; answers what it printed since. Without \
             chars it only waits and looks.",
            json!({
                "session_id": { "type": "number", "description": "The command." },
                "chars": { "type": "string", "description": "What to type." },
                "yield_time_ms": { "type": "number", "description": "Default: 250." },
                "max_output_tokens": {
                    "type": "number",
                    "description": "Default: 10000.",
                },
            }),
            &["session_id"],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { write(&context).await })
    }
}

async fn write(context: &ToolContext) -> ToolResult {
    let arguments: WriteStdinArguments = arguments(context)?;
    let failed = |why: String| ToolFailure::Model(format!("write_stdin failed: {why}"));
    let id = arguments.session_id;
    let terminal = context.services.terminals.get(id);
    let terminal = terminal.ok_or_else(|| failed(format!("Unknown process id {id}")))?;
    let input = !arguments.chars.is_empty();
    if !matches!(arguments.chars.as_str(), "" | INTERRUPT)
        && !TurnRights::for_turn(&context.settings).covers_sandbox_of(&terminal.rights)
    {
        let advice = "the command was started with more permissions than this call has; end it with \\u0003 \
                      and start another with exec_command";
        return Err(failed(advice.to_owned()));
    }
    let watched = context.checkpoint.before_writing(terminal.roots.clone());
    let watched = watched.await;
    let before_end = terminal.before_end().await;
    if input {
        if !terminal.tty {
            let advice = "stdin is closed for this session; rerun exec_command with tty=true to keep \
                          stdin open";
            return Err(failed(advice.to_owned()));
        }
        terminal.write(&arguments.chars).await;
        context.session.clock.sleep(INPUT_PAUSE).await;
    }
    let longest = context.session.config.options.longest_poll.as_millis();
    let longest = u64::try_from(longest).unwrap_or(u64::MAX).max(POLL_WAIT_MS);
    let (shortest, longest) = if input {
        INPUT_WAIT_MS
    } else {
        (POLL_WAIT_MS, longest)
    };
    let wait_limit = arguments
        .yield_time_ms
        .unwrap_or(250)
        .clamp(shortest, longest);
    let wait_limit = Duration::from_millis(wait_limit);
    let elapsed = wait(context, terminal.until_ended(), wait_limit).await;
    let read = read(context, &terminal, elapsed, arguments.max_output_tokens);
    context
        .emitter
        .emit(EventMsg::TerminalInteraction(TerminalInteractionEvent {
            call_id: terminal.call_id.clone(),
            process_id: id.to_string(),
            stdin: arguments.chars,
        }));
    drop(before_end);
    if terminal.status().is_some() {
        terminal.until_reported().await;
    }
    if let Some(watched) = watched {
        drop(watched);
        context.checkpoint.after_command(&context.call.id).await;
    }
    text(read)
}
