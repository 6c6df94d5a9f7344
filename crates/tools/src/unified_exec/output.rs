//! The output of a terminal for the model.

use std::time::Duration;

use codex_protocol::{TruncationMode, TruncationPolicy};
use codex_session_base::history::truncate::{formatted_cut, tokens_of};
use codex_shell_command::quote_command;
use serde_json::{Map, Value, json};

use crate::command_format::with_refusals;
use crate::terminals::Terminal;
use crate::tool::ToolContext;

/// The default token limit.
const DEFAULT_TOKENS: u64 = 10_000;

/// Waits for `end` or the time limit. Returns how long that took.
pub(super) async fn wait(
    context: &ToolContext,
    end: impl Future<Output = ()>,
    wait_limit: Duration,
) -> Duration {
    let clock = &context.session.clock;
    let started = clock.elapsed();
    tokio::select! {
        biased;
        () = end => {}
        () = clock.sleep(wait_limit) => {}
    }
    clock.elapsed().saturating_sub(started)
}

/// The text for the model about the new output of a terminal.
pub(super) fn read(
    context: &ToolContext,
    terminal: &Terminal,
    elapsed: Duration,
    max_tokens: Option<u64>,
) -> String {
    let status = terminal.status();
    let bytes = terminal.take_output().into_bytes();
    if status.is_some() {
        context.services.terminals.remove(terminal.id);
    }
    let text = String::from_utf8_lossy(&bytes);
    let refusals = terminal.network.take_refusals();
    let turn_policy = context.settings.turn_policy(&context.session.config);
    let note = turn_policy.hidden_note(&terminal.command, &text);
    let refusals = (refusals.into_iter().chain(note)).reduce(|all, note| format!("{all}\n{note}"));
    let text = with_refusals(text.into_owned(), refusals.as_deref());
    if status.is_some() && !terminal.tty {
        context.command_ended(|| text.to_string());
    }
    let chunk = uuid::Uuid::new_v4().simple().to_string();
    let state = match status {
        Some(status) => format!("Process exited with code {}", status.code()),
        None => format!("Process running with session ID {}", terminal.id),
    };
    let policy = |limit| TruncationPolicy {
        mode: TruncationMode::Tokens,
        limit,
    };
    context.set_value(|| {
        let output = match max_tokens {
            Some(limit) => formatted_cut(&text, policy(limit)),
            None => text.to_string(),
        };
        let mut value = Map::new();
        value.insert("chunk_id".to_owned(), json!(&chunk[..6]));
        value.insert("wall_time_seconds".to_owned(), json!(elapsed.as_secs_f64()));
        match status {
            Some(status) => value.insert("exit_code".to_owned(), json!(status.code())),
            None => value.insert("session_id".to_owned(), json!(terminal.id)),
        };
        let tokens = tokens_of(bytes.len());
        value.insert("original_token_count".to_owned(), json!(tokens));
        value.insert("output".to_owned(), json!(output));
        Value::Object(value)
    });
    format!(
        "Command: {}\nChunk ID: {}\nWall time: {:.4} seconds\n{state}\nOriginal token count: {}\nOutput:\n{}",
        quote_command(&terminal.command),
        &chunk[..6],
        elapsed.as_secs_f64(),
        tokens_of(bytes.len()),
        formatted_cut(&text, policy(max_tokens.unwrap_or(DEFAULT_TOKENS))),
    )
}
