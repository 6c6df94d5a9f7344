//! From schema 2 to schema 1.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::ConvertedEvent;
use super::items::{edit, items, lists, text};
use crate::format::{Event, LogLine, PayloadKind, Schema, ToolKind};
use crate::ids::ToolCallId;
use crate::json::{Json, Object, Scanner};
use crate::reduce::write_session_id;

/// What has been converted so far.
#[derive(Default)]
pub(crate) struct Downgrade {
    kinds: HashMap<ToolCallId, ToolKind>,
    /// Calls whose runtime events mean nothing to schema 1.
    without_runtime: HashSet<ToolCallId>,
    /// Whether the invocation at hand types into a terminal.
    types: bool,
    pub(super) left_out: BTreeMap<&'static str, u64>,
}

impl Downgrade {
    /// Converts the payload of the line that comes next.
    pub(crate) fn payload(&mut self, kind: PayloadKind, payload: &[u8]) -> Option<Vec<u8>> {
        match kind {
            PayloadKind::ToolInvocation => {
                let value = Scanner::parse(payload).ok()?;
                self.types = write_session_id(&value).is_some();
                None
            }
            PayloadKind::ToolRuntimeEvent => edit(payload, command_output),
            _ if lists(kind).is_empty() => None,
            _ => edit(payload, |payload| {
                for list in lists(kind) {
                    if let Some(items) = items(payload, list) {
                        items.retain(|item| item.get_str("type") != Some("additional_tools"));
                        items.iter_mut().for_each(item_of_one);
                    }
                }
            }),
        }
    }

    fn leave_out(&mut self, what: &'static str) -> ConvertedEvent {
        *self.left_out.entry(what).or_default() += 1;
        ConvertedEvent::default()
    }

    /// Converts a line whose payloads were converted.
    pub(crate) fn line(&mut self, line: &mut LogLine) -> ConvertedEvent {
        let types = std::mem::take(&mut self.types);
        line.schema_version = Schema::One.number();
        match &mut line.payload {
            Event::HistoryItemAccepted { .. } => {
                return self.leave_out("which items became history");
            }
            Event::StdinTargetResolved { .. } => {
                return self.leave_out("which command input went to");
            }
            Event::ThreadResumed { .. } => return self.leave_out("that an agent was resumed"),
            Event::RecordingCompleted => return self.leave_out("that the recording is complete"),
            Event::ToolCallStarted {
                tool_call_id, kind, ..
            } => {
                if *kind == ToolKind::WriteStdin && !types {
                    *kind = ToolKind::Other {
                        name: "write_stdin".into(),
                    };
                }
                self.kinds.insert(tool_call_id.clone(), kind.clone());
            }
            Event::ToolCallRuntimeStarted {
                tool_call_id, kind, ..
            } => {
                let found = kind.take();
                let started = self.kinds.get(tool_call_id);
                let runs =
                    |kind: &ToolKind| matches!(kind, ToolKind::ExecCommand | ToolKind::WriteStdin);
                let is_other = started.is_some_and(runs) && !found.as_ref().is_some_and(runs);
                if is_other {
                    self.without_runtime.insert(tool_call_id.clone());
                    return self.leave_out("that a command was a call of another kind");
                }
                if found.as_ref() != started {
                    *self
                        .left_out
                        .entry("the kind that a call turned out to have")
                        .or_default() += 1;
                }
            }
            Event::ToolCallRuntimeEnded { tool_call_id, .. }
                if self.without_runtime.contains(tool_call_id) =>
            {
                return ConvertedEvent::default();
            }
            _ => {}
        }
        ConvertedEvent {
            is_kept: true,
            ..ConvertedEvent::default()
        }
    }
}

/// The end of a command has its output once in schema 2.
fn command_output(event: &mut Object<'_>) {
    if event.get("exit_code").is_none() {
        return;
    }
    let output = event.get("aggregated_output").and_then(Json::as_str);
    let output = output.unwrap_or_default().to_owned();
    for (key, value) in [
        ("stdout", &*output),
        ("stderr", ""),
        ("formatted_output", &output),
    ] {
        if event.get(key).and_then(Json::as_str).is_none() {
            event.set_after("aggregated_output", key, text(value));
        }
    }
}

fn item_of_one(item: &mut Json<'_>) {
    let Json::Object(item) = item else { return };
    item.remove("id");
    item.remove("internal_chat_message_metadata_passthrough");
    // A task names its sender in clear text, which schema 1 has in the fields beside it.
    if let Some(Json::Array(content)) = item.get_mut("content")
        && let [head, task] = content.as_slice()
        && head.get_str("type") == Some("input_text")
        && task.get_str("type") == Some("encrypted_content")
    {
        content.remove(0);
    }
}
