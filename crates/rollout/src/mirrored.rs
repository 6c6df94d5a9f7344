//! Items of a turn as numbered files have them, beside the events that this program goes by.
//!
//! In such a file other engines show only what has an `item_completed` line. Such a line repeats an event and is
//! marked, so that it is skipped when this program reads the file.

use codex_protocol::{EventMsg, LineStart, McpToolCallEndEvent, TurnItem};
use serde_json::{Value, json};

use crate::persist::reduced;

/// Greater results of MCP tools are not repeated.
const MCP_RESULT_LIMIT: usize = 64 * 1024;
/// The end of a marked line.
const MARK: &[u8] = b",\"mirrored\":true}}";

/// The payload of the marked line for an event of a turn; none if the event shows no item, or is stored as an item itself.
#[must_use]
pub fn mirrored_item(thread: &str, turn: &str, event: &EventMsg, at_ms: i64) -> Option<Vec<u8>> {
    // Also where the event itself is not stored.
    let less = reduced(event);
    let event = less.as_ref().unwrap_or(event);
    let (turn, item) = match event {
        EventMsg::ItemCompleted(completed) => match &completed.item {
            TurnItem::UserMessage(_)
            | TurnItem::AgentMessage(_)
            | TurnItem::Reasoning(_)
            | TurnItem::WebSearch(_)
            | TurnItem::ImageGeneration(_) => {
                let item = serde_json::to_value(&completed.item).ok()?;
                (completed.turn_id.as_str(), item)
            }
            _ => return None,
        },
        EventMsg::ExecCommandEnd(end) => {
            let item = json!({
                "type": "CommandExecution",
                "id": end.call_id,
                "process_id": end.process_id,
                "command": end.command,
                "cwd": folder_address(&end.cwd),
                "parsed_cmd": end.parsed_cmd,
                "source": end.source,
                "status": end.status,
                "aggregated_output": end.aggregated_output,
                "exit_code": end.exit_code,
                "duration": end.duration,
            });
            (end.turn_id.as_str(), item)
        }
        EventMsg::PatchApplyEnd(end) => {
            let item = json!({
                "type": "FileChange",
                "id": end.call_id,
                "changes": end.changes,
                "status": end.status,
                "stdout": end.stdout,
                "stderr": end.stderr,
            });
            (end.turn_id.as_str(), item)
        }
        // Its event does not say to which turn it belongs.
        EventMsg::McpToolCallEnd(end) => (turn, mcp_call(end)),
        _ => return None,
    };
    payload(thread, turn, item, at_ms)
}

fn mcp_call(end: &McpToolCallEndEvent) -> Value {
    let mut item = json!({
        "type": "McpToolCall",
        "id": end.call_id,
        "server": end.invocation.server,
        "tool": end.invocation.tool,
        "arguments": end.invocation.arguments,
        "readOnlyHint": end.read_only_hint,
        "status": if end.is_success() { "completed" } else { "failed" },
        "duration": end.duration,
    });
    match &end.result {
        Ok(result) => item["result"] = json!(result),
        Err(message) => item["error"] = json!({ "message": message }),
    }
    let size = item["result"].to_string().len();
    if size > MCP_RESULT_LIMIT {
        let text = format!("a result of {size} bytes, which is left out here");
        item["result"] = json!({ "content": [{ "type": "text", "text": text }] });
    }
    item
}

fn payload(thread: &str, turn: &str, item: Value, at_ms: i64) -> Option<Vec<u8>> {
    // The mark is the last member, where it is looked for.
    let payload = json!({
        "type": "item_completed",
        "thread_id": thread,
        "turn_id": turn,
        "item": item,
        "started_at_ms": at_ms,
        "completed_at_ms": at_ms,
        "mirrored": true,
    });
    serde_json::to_vec(&payload).ok()
}

/// A folder as an address of the scheme `file`.
fn folder_address(path: &str) -> String {
    let mut address = "file://".to_owned();
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => address.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => address.push(byte.into()),
            byte => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address
}

/// Whether a line only repeats an event for other engines.
pub(crate) fn is_mirrored(line: &[u8], start: Option<LineStart<'_>>) -> bool {
    line.ends_with(MARK)
        && start.is_some_and(|start| {
            start.kind == "event_msg" && start.payload_type == Some("item_completed")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command_end(output: &str) -> EventMsg {
        let event = json!({
            "type": "exec_command_end", "call_id": "c", "turn_id": "t", "command": ["ls"], "cwd": "/a b",
            "parsed_cmd": [], "stdout": output, "stderr": "", "aggregated_output": output, "exit_code": 0,
            "duration": {"secs": 0, "nanos": 1}, "formatted_output": output, "status": "completed",
        });
        serde_json::from_value(event).unwrap()
    }

    fn line(payload: &str) -> String {
        format!(
            "{{\"timestamp\":\"t\",\"ordinal\":7,\"type\":\"event_msg\",\"payload\":{payload}}}"
        )
    }

    fn is_skipped(line: &str) -> bool {
        is_mirrored(line.as_bytes(), LineStart::parse(line.as_bytes()))
    }

    #[test]
    fn mirrored_command_has_cut_output() {
        let payload = mirrored_item("thread", "t", &command_end(&"x".repeat(1 << 20)), 5).unwrap();
        assert!(payload.len() < 20_000, "{}", payload.len());
        let payload = String::from_utf8(payload).unwrap();
        let value: Value = serde_json::from_str(&payload).unwrap();
        assert_eq!(value["item"]["cwd"], "file:///a%20b");
        assert_eq!(value["item"]["id"], "c");
        assert!(is_skipped(&line(&payload)));
    }

    #[test]
    fn mcp_call_is_mirrored_without_its_large_result() {
        for (length, is_repeated) in [(10, true), (100_000, false)] {
            let text = "x".repeat(length);
            let end = json!({
                "type": "mcp_tool_call_end", "call_id": "c",
                "invocation": {"server": "s", "tool": "t", "arguments": {}}, "duration": {"secs": 0, "nanos": 1},
                "result": {"Ok": {"content": [{"type": "text", "text": text}]}},
            });
            let end = serde_json::from_value(end).unwrap();
            let payload = mirrored_item("thread", "turn", &end, 5).unwrap();
            let value: Value = serde_json::from_slice(&payload).unwrap();
            assert_eq!(value["turn_id"], "turn");
            assert_eq!(value["item"]["status"], "completed");
            let shown = &value["item"]["result"]["content"][0]["text"];
            assert_eq!(shown == &json!(text), is_repeated);
        }
    }

    #[test]
    fn other_lines_are_read_with_any_ending() {
        let item = json!({"type": "item_completed", "thread_id": "a", "turn_id": "t", "item": {"type": "Plan"}});
        assert!(!is_skipped(&line(&item.to_string())));
        let forged = r#"{"type":"function_call","arguments":{"a":1},"mirrored":true}"#;
        assert!(!is_skipped(&line(forged)));
    }
}
