//! What happened in a thread, as text for the model: messages, calls and their outputs, without secrets.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use codex_config::MemorySettings;
use codex_core::is_context_text;
use codex_protocol::{
    ContentItem, EventMsg, FunctionCallOutputBody, FunctionCallOutputContentItem, LocalShellAction,
    ResponseItem, RolloutItem, ThreadRolledBackEvent,
};
use codex_rollout::RolloutLoadError;
use codex_trace_view::TextCleaner;

use crate::note::cut;
use crate::store::MemoryMode;

/// The limits on one message, and on one call or output, in bytes.
const MESSAGE_BYTES: usize = 16 * 1024;
const CALL_BYTES: usize = 4 * 1024;
/// The limit on what is kept in memory while a rollout is read.
const READ_BYTES: usize = 64 * 1024 * 1024;

/// A thread as text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ThreadTranscript {
    pub(crate) text: String,
    pub(crate) mode: MemoryMode,
}

/// Reads the transcript of a thread, up to a limit in bytes. The middle of longer ones is left out.
pub(crate) fn read(
    path: &Path,
    settings: &MemorySettings,
    limit: usize,
    cleaner: &mut TextCleaner,
) -> Result<ThreadTranscript, RolloutLoadError> {
    let mut parts = Parts::default();
    codex_rollout::scan(path, |line| {
        let kind = line.kind();
        let Some((kind, payload)) = &kind else {
            return ControlFlow::Continue(());
        };
        let is_turn = matches!(
            payload.as_deref(),
            Some("task_started" | "turn_started" | "thread_rolled_back")
        );
        if (matches!(&**kind, "response_item" | "session_meta") || is_turn)
            && let Some(line) = line.read()
        {
            parts.take(line.item);
        }
        if parts.bytes > READ_BYTES {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if settings.no_memories_if_mcp_or_web_search && parts.has_foreign_texts {
        parts.mode = MemoryMode::Polluted;
    }
    Ok(ThreadTranscript {
        text: within(&cleaner.clean(&parts.text()), limit),
        mode: parts.mode,
    })
}

/// What was read so far.
#[derive(Default)]
struct Parts {
    texts: Vec<String>,
    /// Where messages of the user begin in `texts`.
    turns: Vec<usize>,
    /// Where turns begin in `texts`, by their ids.
    begins: HashMap<String, usize>,
    bytes: usize,
    mode: MemoryMode,
    has_meta: bool,
    /// Whether tools of MCP servers or web searches were used.
    has_foreign_texts: bool,
}

impl Parts {
    fn take(&mut self, item: RolloutItem) {
        match item {
            RolloutItem::SessionMeta(meta) if !self.has_meta => {
                self.has_meta = true;
                let mode = meta.memory_mode.as_deref();
                self.mode = mode.map_or(MemoryMode::Enabled, MemoryMode::named);
            }
            RolloutItem::ResponseItem(item) => self.take_item(item),
            RolloutItem::EventMsg(EventMsg::TurnStarted(turn)) => {
                self.begins.insert(turn.turn_id, self.texts.len());
            }
            RolloutItem::EventMsg(EventMsg::ThreadRolledBack(turns)) => self.roll_back(&turns),
            _ => {}
        }
    }

    fn roll_back(&mut self, turns: &ThreadRolledBackEvent) {
        let named = turns.first_turn_id.as_ref();
        let named = named.and_then(|turn| self.begins.get(turn));
        let counted = || {
            let count = usize::try_from(turns.num_turns).unwrap_or(usize::MAX);
            let kept = self.turns.len().saturating_sub(count);
            self.turns.get(kept)
        };
        if let Some(begin) = named.or_else(counted).copied() {
            self.texts.truncate(begin);
            self.turns.retain(|turn| *turn < begin);
        }
    }

    fn take_item(&mut self, item: ResponseItem) {
        match item {
            ResponseItem::Message { role, content, .. } => self.take_message(&role, &content),
            ResponseItem::FunctionCall {
                name, arguments, ..
            } => {
                self.has_foreign_texts |= name.starts_with("mcp__");
                self.push(&format!("call of {name}"), &arguments, CALL_BYTES);
            }
            ResponseItem::CustomToolCall { name, input, .. } => {
                self.push(&format!("call of {name}"), &input, CALL_BYTES);
            }
            ResponseItem::LocalShellCall {
                action: LocalShellAction::Exec(action),
                ..
            } => self.push("command", &action.command.join(" "), CALL_BYTES),
            ResponseItem::FunctionCallOutput { output, .. }
            | ResponseItem::CustomToolCallOutput { output, .. } => {
                self.push("output", &text_of(&output), CALL_BYTES);
            }
            ResponseItem::WebSearchCall { .. } => self.has_foreign_texts = true,
            _ => {}
        }
    }

    fn take_message(&mut self, role: &str, content: &[ContentItem]) {
        let texts = content.iter().filter_map(|part| match part {
            ContentItem::InputText { text } | ContentItem::OutputText { text } => Some(&**text),
            ContentItem::InputImage { .. } => None,
        });
        let text = texts.collect::<Vec<&str>>().join("\n");
        match role {
            "user" if is_context_text(&text) => {}
            "user" => {
                self.turns.push(self.texts.len());
                self.push("user", &text, MESSAGE_BYTES);
            }
            "assistant" => self.push("assistant", &text, MESSAGE_BYTES),
            _ => {}
        }
    }

    fn push(&mut self, who: &str, text: &str, limit: usize) {
        let text = within(text.trim(), limit);
        if !text.is_empty() {
            let part = format!("[{who}]\n{text}\n\n");
            self.bytes += part.len();
            self.texts.push(part);
        }
    }

    /// The text; none if no person said anything.
    fn text(&self) -> String {
        if self.turns.is_empty() {
            String::new()
        } else {
            self.texts.concat()
        }
    }
}

/// The texts of an output.
fn text_of(output: &FunctionCallOutputBody) -> String {
    match output {
        FunctionCallOutputBody::Text(text) => text.as_str().into_owned(),
        FunctionCallOutputBody::Content(parts) => {
            let texts = parts.iter().filter_map(|part| match part {
                FunctionCallOutputContentItem::InputText { text } => Some(&**text),
                FunctionCallOutputContentItem::InputImage { .. } => None,
            });
            texts.collect::<Vec<&str>>().join("\n")
        }
    }
}

/// The text without its middle, if it is longer than the limit in bytes.
fn within(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let half = limit / 2;
    let end = text.ceil_char_boundary(text.len() - half);
    let left_out = text.len() - limit;
    let start = cut(text, half);
    format!(
        "{start}\n[{left_out} bytes are left out here]\n{}",
        &text[end..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn transcript(lines: &[Value], settings: &MemorySettings, limit: usize) -> ThreadTranscript {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rollout.jsonl");
        let line = |line: &Value| {
            let (kind, payload) = (&line[0], &line[1]);
            let line = json!({ "timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload });
            format!("{line}\n")
        };
        let text: String = lines.iter().map(line).collect();
        std::fs::write(&path, text).unwrap();
        let mut cleaner = TextCleaner::new(std::iter::empty());
        read(&path, settings, limit, &mut cleaner).unwrap()
    }

    fn message_line(role: &str, text: &str) -> Value {
        let kind = if role == "user" {
            "input_text"
        } else {
            "output_text"
        };
        let content = json!([{ "type": kind, "text": text }]);
        json!(["response_item", { "type": "message", "role": role, "content": content }])
    }

    fn called(name: &str) -> Value {
        let call = json!({ "type": "function_call", "name": name, "arguments": "{\"a\":1}", "call_id": "c" });
        json!(["response_item", call])
    }

    #[test]
    fn context_messages_are_not_shown() {
        let output =
            json!({ "type": "function_call_output", "call_id": "c", "output": "port 8080" });
        let lines = [
            message_line("developer", "instructions"),
            message_line("user", "<environment_context>x</environment_context>"),
            message_line("user", "which port? token=abcdefgh12345678"),
            called("shell"),
            json!(["response_item", output]),
            message_line("assistant", "8080"),
            message_line("user", "forget this"),
            json!(["event_msg", { "type": "thread_rolled_back", "num_turns": 1 }]),
        ];
        let text = transcript(&lines, &MemorySettings::default(), 10_000).text;
        assert!(
            !text.contains("abcdefgh") && text.starts_with("[user]\nwhich port?"),
            "{text}"
        );
        let rest = text.split_once("[call of").unwrap().1;
        assert_eq!(
            rest,
            " shell]\n{\"a\":1}\n\n[output]\nport 8080\n\n[assistant]\n8080\n\n"
        );
        assert!(
            transcript(&lines, &MemorySettings::default(), 40)
                .text
                .contains("left out")
        );
    }

    #[test]
    fn a_thread_may_exclude_itself() {
        let strict = MemorySettings {
            no_memories_if_mcp_or_web_search: true,
            ..MemorySettings::default()
        };
        let plain = [message_line("user", "x"), called("shell")];
        let mcp = [message_line("user", "x"), called("mcp__server__tool")];
        let web = [
            message_line("user", "x"),
            json!(["response_item", { "type": "web_search_call" }]),
        ];
        let mode = |lines: &[Value], settings| transcript(lines, settings, 1000).mode;
        assert_eq!(mode(&plain, &strict), MemoryMode::Enabled);
        assert_eq!(mode(&mcp, &strict), MemoryMode::Polluted);
        assert_eq!(mode(&web, &strict), MemoryMode::Polluted);
        assert_eq!(mode(&mcp, &MemorySettings::default()), MemoryMode::Enabled);
        assert_eq!(
            transcript(&[message_line("assistant", "x")], &strict, 1000).text,
            ""
        );
    }
}
