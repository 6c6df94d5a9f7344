//! A run as a Markdown document: messages, reasoning, tool calls and their results, turn by turn.

use std::io::{self, Write};

use codex_rollout_trace::ids::ItemId;
use codex_rollout_trace::model::{
    ConversationItem, InferenceCall, ItemKind, Role, RolloutTrace, Thread, Turn,
};

/// A longer result of a tool is cut.
const LONGEST_RESULT: usize = 20_000;

/// Writes a run.
///
/// # Errors
/// It cannot be written.
pub fn write_markdown(trace: &RolloutTrace, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# Session {}", trace.root_thread_id)?;
    let mut threads: Vec<&Thread> = trace.threads.values().collect();
    threads.sort_by_key(|thread| thread.execution.started_seq);
    let has_agents = threads.len() > 1;
    for thread in threads {
        if has_agents {
            writeln!(out, "\n# Agent {}", thread.agent_path)?;
        }
        write_thread(trace, thread, out)?;
    }
    Ok(())
}

fn write_thread(trace: &RolloutTrace, thread: &Thread, out: &mut dyn Write) -> io::Result<()> {
    let turns = trace.codex_turns.values();
    let mut turns: Vec<&Turn> = turns
        .filter(|turn| turn.thread_id == thread.thread_id)
        .collect();
    turns.sort_by_key(|turn| turn.execution.started_seq);
    let mut before: &[ItemId] = &[];
    for (number, turn) in (1..).zip(turns) {
        writeln!(out, "\n## Turn {number}")?;
        let calls = trace.inference_calls.values();
        let mut calls: Vec<&InferenceCall> = calls
            .filter(|call| call.codex_turn_id == turn.codex_turn_id)
            .collect();
        calls.sort_by_key(|call| call.execution.started_seq);
        for call in calls {
            let known: std::collections::HashSet<&ItemId> = before.iter().collect();
            let fresh = call
                .request_item_ids
                .iter()
                .filter(|item| !known.contains(item));
            // What the model answered before is part of this request.
            let fresh = fresh.filter_map(|item| trace.conversation_items.get(item));
            for item in fresh.filter(|item| is_input(item)) {
                write_item(item, out)?;
            }
            let answers = call.response_item_ids.iter();
            for item in answers.filter_map(|item| trace.conversation_items.get(item)) {
                write_item(item, out)?;
            }
            if let Some(error) = &call.error {
                writeln!(out, "\n**The request failed:** {error}")?;
            }
            before = &call.request_item_ids;
        }
    }
    Ok(())
}

fn is_input(item: &ConversationItem) -> bool {
    matches!(item.role, Role::User | Role::Tool)
        || matches!(
            item.kind,
            ItemKind::FunctionCallOutput | ItemKind::CustomToolCallOutput
        )
}

fn write_item(item: &ConversationItem, out: &mut dyn Write) -> io::Result<()> {
    let text = item.body.shown();
    if text.trim().is_empty() {
        return Ok(());
    }
    match item.kind {
        ItemKind::FunctionCall | ItemKind::CustomToolCall => {
            let call = command_of(&text).unwrap_or(text);
            writeln!(out, "\n### Tool call\n")?;
            write_block(&call, language(&call), out)
        }
        ItemKind::FunctionCallOutput | ItemKind::CustomToolCallOutput => {
            writeln!(out, "\n<details><summary>Result</summary>\n")?;
            write_block(cut(&text), "", out)?;
            writeln!(out, "\n</details>")
        }
        ItemKind::Reasoning => {
            let quoted: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
            writeln!(out, "\n{}", quoted.join("\n"))
        }
        ItemKind::Message | ItemKind::CompactionMarker if is_context(item, &text) => {
            writeln!(out, "\n<details><summary>Context</summary>\n")?;
            write_block(&text, "", out)?;
            writeln!(out, "\n</details>")
        }
        ItemKind::Message | ItemKind::CompactionMarker => {
            let who = match (&item.agent_message, item.role) {
                (Some(message), _) => format!("{} to {}", message.author, message.recipient),
                (None, Role::User) => "User".to_owned(),
                (None, Role::Assistant) => "Assistant".to_owned(),
                (None, Role::System | Role::Developer | Role::Tool) => "Engine".to_owned(),
            };
            writeln!(out, "\n### {who}\n\n{}", text.trim_end())
        }
    }
}

/// What the engine tells the model in a message.
fn is_context(item: &ConversationItem, text: &str) -> bool {
    let text = text.trim_start();
    matches!(item.role, Role::System | Role::Developer)
        || item.role == Role::User && (text.starts_with('<') || text.starts_with("# AGENTS"))
}

/// A block that no text inside can end.
fn write_block(text: &str, language: &str, out: &mut dyn Write) -> io::Result<()> {
    let runs = text.split(|char| char != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default().max(2) + 1);
    writeln!(out, "{fence}{language}\n{}\n{fence}", text.trim_end())
}

fn language(call: &str) -> &'static str {
    if call.starts_with("*** Begin Patch") {
        "diff"
    } else if call.starts_with('{') {
        "json"
    } else {
        "sh"
    }
}

/// The command in the arguments of a call.
fn command_of(arguments: &str) -> Option<String> {
    let arguments: serde_json::Value = serde_json::from_str(arguments).ok()?;
    let names = ["cmd", "command", "input", "patch"];
    let found = names
        .iter()
        .map(|name| &arguments[*name])
        .find(|value| !value.is_null())?;
    match found {
        serde_json::Value::String(command) => Some(command.clone()),
        serde_json::Value::Array(words) => {
            let words = words.iter().filter_map(serde_json::Value::as_str);
            Some(words.collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_RESULT)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_end_its_block() {
        let mut out = Vec::new();
        write_block("a ```` b", "", &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "`````\na ```` b\n`````\n");
    }

    #[test]
    fn commands_are_taken_out_of_their_arguments() {
        assert_eq!(command_of(r#"{"cmd":"ls"}"#).unwrap(), "ls");
        assert_eq!(command_of(r#"{"command":["ls","-l"]}"#).unwrap(), "ls -l");
        assert_eq!(command_of("ls"), None);
    }
}
