//! Whole items, which some engines store where this program stores the event of their end.

use std::collections::BTreeMap;
use std::time::Duration;

use codex_app_server_protocol::v2::ThreadItem;
use codex_protocol as v1;
use serde::Deserialize;
use serde_json::Value;

use super::command_action::actions;
use super::item;

#[derive(Deserialize)]
#[serde(tag = "type")]
enum StoredItem {
    CommandExecution {
        id: String,
        #[serde(default)]
        process_id: Option<String>,
        command: Vec<String>,
        cwd: String,
        #[serde(default)]
        parsed_cmd: Vec<v1::ParsedCommand>,
        #[serde(default)]
        source: v1::ExecCommandSource,
        status: v1::ExecCommandStatus,
        #[serde(default)]
        aggregated_output: Option<String>,
        #[serde(default)]
        exit_code: Option<i32>,
        #[serde(default)]
        duration: Option<Duration>,
    },
    FileChange {
        id: String,
        changes: BTreeMap<String, v1::FileChange>,
        status: v1::PatchApplyStatus,
    },
    ImageView {
        id: String,
        path: String,
    },
    McpToolCall {
        id: String,
        #[serde(flatten)]
        invocation: v1::McpInvocation,
        #[serde(default, rename = "readOnlyHint")]
        read_only_hint: Option<bool>,
        #[serde(default)]
        result: Option<v1::CallToolResult>,
        #[serde(default)]
        error: Option<McpError>,
        #[serde(default)]
        duration: Duration,
    },
    DynamicToolCall {
        id: String,
        #[serde(default)]
        namespace: Option<String>,
        tool: String,
        #[serde(default)]
        arguments: Value,
        #[serde(default)]
        content_items: Option<Vec<v1::DynamicToolContentItem>>,
        #[serde(default)]
        success: Option<bool>,
        #[serde(default)]
        duration: Duration,
    },
}

#[derive(Deserialize)]
struct McpError {
    message: String,
}

/// The item, if its kind is supported.
pub(super) fn stored_item(stored: &Value) -> Option<ThreadItem> {
    let stored = StoredItem::deserialize(stored).ok()?;
    Some(match stored {
        StoredItem::CommandExecution {
            id,
            process_id,
            command,
            cwd,
            parsed_cmd,
            source,
            status,
            aggregated_output,
            exit_code,
            duration,
        } => ThreadItem::CommandExecution {
            id,
            command: item::command_line(&command),
            command_actions: actions(&parsed_cmd, &local_path(cwd.clone())),
            cwd: local_path(cwd),
            process_id,
            source: item::source(source),
            status: item::command_status(status),
            aggregated_output: aggregated_output
                .filter(|output| !output.is_empty())
                .map(Into::into),
            exit_code,
            duration_ms: duration.map(item::milliseconds),
        },
        StoredItem::FileChange {
            id,
            changes,
            status,
        } => item::patch(&id, &changes, item::patch_status(status)),
        StoredItem::ImageView { id, path } => ThreadItem::ImageView {
            id,
            path: local_path(path),
        },
        StoredItem::McpToolCall {
            id,
            invocation,
            read_only_hint,
            result,
            error,
            duration,
        } => item::mcp_ended(&v1::McpToolCallEndEvent {
            call_id: id,
            invocation,
            read_only_hint,
            duration,
            result: result.ok_or_else(|| error.map_or_else(String::new, |error| error.message)),
        }),
        StoredItem::DynamicToolCall {
            id,
            namespace,
            tool,
            arguments,
            content_items,
            success,
            duration,
        } => item::dynamic_answer(&v1::DynamicToolCallResponseEvent {
            call_id: id,
            turn_id: String::new(),
            namespace,
            tool,
            arguments,
            content_items: content_items.unwrap_or_default(),
            success: success.unwrap_or_default(),
            error: None,
            duration,
        }),
    })
}

/// Such engines store paths as URLs.
fn local_path(stored: String) -> String {
    let Some(path) = stored.strip_prefix("file://") else {
        return stored;
    };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = (*first == b'%')
            .then(|| std::str::from_utf8(after.get(..2)?).ok())
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() {
            &after[2..]
        } else {
            after
        };
    }
    String::from_utf8(bytes).unwrap_or(stored)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn shown(stored: Value, expected: Value) {
        let item = stored_item(&stored).expect("a known kind");
        assert_eq!(serde_json::to_value(item).unwrap(), expected);
    }

    #[test]
    fn a_command_is_shown() {
        shown(
            json!({"type": "CommandExecution", "id": "c", "process_id": "7", "command": ["bash", "-lc", "ls x"],
                "cwd": "file:///a%20b/%C3%BC/100%", "parsed_cmd": [{"type": "list_files", "cmd": "ls x", "path": "x"}],
                "source": "unified_exec_startup", "status": "failed", "aggregated_output": "no", "exit_code": 2,
                "duration": {"secs": 1, "nanos": 5_000_000}}),
            json!({"type": "commandExecution", "id": "c", "processId": "7", "command": "bash -lc 'ls x'",
                "cwd": "/a b/ü/100%", "commandActions": [{"type": "listFiles", "command": "ls x", "path": "x"}],
                "source": "unifiedExecStartup", "status": "failed", "aggregatedOutput": "no", "exitCode": 2,
                "durationMs": 1005}),
        );
    }

    #[test]
    fn a_patch_is_shown() {
        shown(
            json!({"type": "FileChange", "id": "p", "status": "completed", "stdout": "Success", "stderr": "",
                "changes": {"/w/a": {"type": "add", "content": "hello\n"},
                    "/w/b": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": null}}}),
            json!({"type": "fileChange", "id": "p", "status": "completed", "changes": [
                {"path": "/w/a", "kind": {"type": "add"}, "diff": "hello\n"},
                {"path": "/w/b", "kind": {"type": "update", "move_path": null}, "diff": "@@ -1 +1 @@\n-a\n+b\n"}]}),
        );
    }

    #[test]
    fn an_image_is_shown() {
        shown(
            json!({"type": "ImageView", "id": "i", "path": "file:///w/x.png"}),
            json!({"type": "imageView", "id": "i", "path": "/w/x.png"}),
        );
    }

    #[test]
    fn calls_of_tools_are_shown() {
        let duration = json!({"secs": 0, "nanos": 3_000_000});
        shown(
            json!({"type": "McpToolCall", "id": "m", "server": "s", "tool": "t", "arguments": {"a": 1}, "status": "failed",
                "readOnlyHint": true, "duration": duration, "result":
                {"content": [{"type": "text", "text": "no"}], "structuredContent": {"k": 1}, "isError": true}}),
            json!({"type": "mcpToolCall", "id": "m", "server": "s", "tool": "t", "arguments": {"a": 1}, "status": "failed",
                "readOnlyHint": true, "result": {"content": [{"type": "text", "text": "no"}], "structuredContent": {"k": 1}},
                "error": null, "durationMs": 3}),
        );
        shown(
            json!({"type": "McpToolCall", "id": "m", "server": "s", "tool": "t", "arguments": null, "status": "failed",
                "error": {"message": "gone"}}),
            json!({"type": "mcpToolCall", "id": "m", "server": "s", "tool": "t", "arguments": null, "status": "failed",
                "result": null, "error": {"message": "gone"}, "durationMs": 0}),
        );
        shown(
            json!({"type": "DynamicToolCall", "id": "d", "tool": "t", "arguments": {}, "status": "completed",
                "content_items": [{"type": "inputText", "text": "hi"}], "success": true, "duration": duration}),
            json!({"type": "dynamicToolCall", "id": "d", "tool": "t", "arguments": {}, "status": "completed",
                "contentItems": [{"type": "inputText", "text": "hi"}], "success": true, "durationMs": 3}),
        );
    }

    #[test]
    fn other_kinds_are_not_shown() {
        assert_eq!(stored_item(&json!({"type": "Later", "id": "x"})), None);
        assert_eq!(stored_item(&json!({"type": "ImageView", "id": 1})), None);
    }
}
