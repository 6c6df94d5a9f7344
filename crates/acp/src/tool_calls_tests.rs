use serde_json::Value;

use super::*;

fn tool_call_from_item(item: Value, terminal: bool) -> Value {
    let item: ThreadItem = serde_json::from_value(item).unwrap();
    json!(of_item(&item, vec![], terminal).unwrap())
}

fn command_item(status: &str, actions: Value) -> Value {
    let (output, code) = match status {
        "inProgress" => (Value::Null, Value::Null),
        _ => (json!("out\n"), json!(0)),
    };
    json!({ "type": "commandExecution", "id": "c", "command": "/bin/bash -lc 'ls -l'", "cwd": "/w",
            "processId": null, "status": status, "commandActions": actions,
            "aggregatedOutput": output, "exitCode": code, "durationMs": null })
}

#[test]
fn command_update_has_title_and_final_output() {
    let begun = tool_call_from_item(command_item("inProgress", json!([])), false);
    let input = json!({ "command": "/bin/bash -lc 'ls -l'", "cwd": "/w" });
    let expected = json!({ "toolCallId": "c", "title": "ls -l", "kind": "execute",
                           "status": "in_progress", "rawInput": input });
    assert_eq!(begun, expected);
    let ended = tool_call_from_item(command_item("completed", json!([])), false);
    assert_eq!(ended["status"], "completed");
    assert_eq!(
        ended["content"][0]["content"],
        json!({ "type": "text", "text": "out\n" })
    );
    let raw = json!({ "exit_code": 0, "formatted_output": "out\n" });
    assert_eq!(ended["rawOutput"], raw);
}

#[test]
fn a_terminal_is_named_where_the_client_shows_it() {
    let begun = tool_call_from_item(command_item("inProgress", json!([])), true);
    assert_eq!(
        begun["content"],
        json!([{ "type": "terminal", "terminalId": "c" }])
    );
    let info = json!({ "terminal_info": { "terminal_id": "c", "cwd": "/w" } });
    assert_eq!(begun["_meta"], info);
    let ended = tool_call_from_item(command_item("failed", json!([])), true);
    assert_eq!(ended["status"], "failed");
    assert_eq!(ended["_meta"]["terminal_exit"]["exit_code"], 0);
}

#[test]
fn single_action_sets_the_kind() {
    let kind = |action: Value| {
        let call = tool_call_from_item(command_item("inProgress", json!([action])), false);
        (
            call["kind"].clone(),
            call["title"].clone(),
            call["locations"].clone(),
        )
    };
    let read = json!({ "type": "read", "command": "cat a", "name": "a", "path": "sub/a" });
    let expected = (
        json!("read"),
        json!("Read file 'a'"),
        json!([{ "path": "/w/sub/a" }]),
    );
    assert_eq!(kind(read), expected);
    let search = json!({ "type": "search", "command": "rg x", "query": "x", "path": "src" });
    assert_eq!(kind(search).1, "Search for 'x' in 'src'");
    let list = json!({ "type": "listFiles", "command": "ls", "path": null });
    assert_eq!(kind(list).0, "read");
}

#[test]
fn patch_title_covers_all_changes() {
    let patch_summary = |kinds: &[Value]| {
        let changes: Vec<_> = kinds
            .iter()
            .map(|kind| json!({ "path": "/w/a.rs", "kind": kind, "diff": "" }))
            .collect();
        let item = json!({ "type": "fileChange", "id": "p", "changes": changes,
                           "status": "declined" });
        let call = tool_call_from_item(item, false);
        (
            call["kind"].clone(),
            call["title"].clone(),
            call["status"].clone(),
        )
    };
    let add = json!({ "type": "add" });
    let delete = json!({ "type": "delete" });
    let moved = json!({ "type": "update", "move_path": "/w/b.rs" });
    let declined = json!("failed");
    assert_eq!(
        patch_summary(std::slice::from_ref(&add)),
        (json!("edit"), json!("Edit a.rs"), declined.clone())
    );
    assert_eq!(patch_summary(std::slice::from_ref(&delete)).0, "delete");
    assert_eq!(patch_summary(&[moved]).0, "move");
    assert_eq!(patch_summary(&[add.clone(), delete.clone()]).0, "edit");
    assert_eq!(
        patch_summary(&[add.clone(), delete, add.clone(), add]).1,
        "Edit 4 files"
    );
}

#[test]
fn mcp_tool_call_shows_the_server_content() {
    let call = tool_call_from_item(
        json!({ "type": "mcpToolCall", "id": "m", "server": "s", "tool": "t", "status": "completed",
                "arguments": { "a": 1 }, "error": null, "durationMs": 1,
                "result": { "content": [{ "type": "text", "text": "x" }, { "type": "new" }] } }),
        false,
    );
    assert_eq!(call["title"], "mcp.s.t");
    assert_eq!(call["content"].as_array().unwrap().len(), 1);
    assert_eq!(
        call["rawInput"],
        json!({ "server": "s", "tool": "t", "arguments": { "a": 1 } })
    );
}

#[test]
fn web_search_is_shown_as_search_or_fetch() {
    let search_summary = |query: &str, action: Value| {
        let call = tool_call_from_item(
            json!({ "type": "webSearch", "id": "w", "query": query, "action": action }),
            false,
        );
        (call["kind"].clone(), call["status"].clone())
    };
    let running = search_summary("", json!({ "type": "other" }));
    assert_eq!(running, (json!("search"), json!("in_progress")));
    let page = search_summary("u", json!({ "type": "openPage", "url": "u" }));
    // Completed and read are the words; the kind of a fetch is its own.
    assert_eq!(page, (json!("fetch"), json!("completed")));
}
