use super::*;

fn on_notification(events: &mut ExecEvents, method: &str, mut params: Value) -> Vec<Value> {
    params["threadId"] = json!("t");
    params["turnId"] = json!("u");
    let params = serde_json::value::to_raw_value(&params).unwrap();
    events.on_notification(&ServerNotification::read(method, Some(&params)).unwrap())
}

fn plan(status: &str) -> Value {
    json!({ "explanation": null, "plan": [{ "step": "one", "status": status }] })
}

fn turn(status: &str, error: Value) -> Value {
    json!({ "turn": { "id": "u", "items": [], "status": status, "error": error } })
}

#[test]
fn an_item_keeps_its_number() {
    let mut events = ExecEvents::default();
    let item = |status: &str| {
        json!({ "item": { "type": "fileChange", "id": "p", "status": status,
                          "changes": [{ "path": "/a", "kind": { "type": "add" }, "diff": "" }] } })
    };
    let expected = |kind: &str, status: &str| {
        let item = json!({ "id": "item_0", "type": "file_change", "status": status,
                           "changes": [{ "path": "/a", "kind": "add" }] });
        vec![json!({ "type": kind, "item": item })]
    };
    let started = on_notification(&mut events, "item/started", item("inProgress"));
    assert_eq!(started, expected("item.started", "in_progress"));
    let completed = on_notification(&mut events, "item/completed", item("completed"));
    assert_eq!(completed, expected("item.completed", "completed"));
}

#[test]
fn message_is_reported_when_complete() {
    let mut events = ExecEvents::default();
    let item = json!({ "item": { "type": "agentMessage", "id": "m", "text": "hi", "phase": null,
                                 "memoryCitation": null } });
    assert!(on_notification(&mut events, "item/started", item.clone()).is_empty());
    let item_0 = json!({ "id": "item_0", "type": "agent_message", "text": "hi" });
    let expected = [json!({ "type": "item.completed", "item": item_0 })];
    assert_eq!(
        on_notification(&mut events, "item/completed", item),
        expected
    );
}

#[test]
fn a_plan_is_one_item_until_the_turn_ends() {
    let mut events = ExecEvents::default();
    let kinds = |events: &[Value]| -> Vec<String> {
        let kind = |event: &Value| event["type"].as_str().unwrap().to_owned();
        events.iter().map(kind).collect()
    };
    let begun = on_notification(&mut events, "turn/plan/updated", plan("pending"));
    assert_eq!(kinds(&begun), ["item.started"]);
    let moved = on_notification(&mut events, "turn/plan/updated", plan("completed"));
    assert_eq!(kinds(&moved), ["item.updated"]);
    assert_eq!(moved[0]["item"]["items"][0]["completed"], true);
    let ended = on_notification(
        &mut events,
        "turn/completed",
        turn("completed", Value::Null),
    );
    assert_eq!(kinds(&ended), ["item.completed", "turn.completed"]);
}

#[test]
fn failed_turn_gives_the_reason() {
    let error = json!({ "message": "no", "codexErrorInfo": null, "additionalDetails": null });
    let ended = on_notification(
        &mut ExecEvents::default(),
        "turn/completed",
        turn("failed", error),
    );
    assert_eq!(
        ended,
        [json!({ "type": "turn.failed", "error": { "message": "no" } })]
    );
}

#[test]
fn mcp_tool_call_has_structured_content() {
    let mut events = ExecEvents::default();
    let item = json!({ "item": {
        "type": "mcpToolCall", "id": "c", "server": "s", "tool": "t", "status": "completed",
        "arguments": { "a": 1 }, "error": null, "durationMs": 1,
        "result": { "content": [{ "type": "text", "text": "x" }], "structuredContent": { "b": 2 } },
    } });
    let events_of_item = on_notification(&mut events, "item/completed", item);
    let result = json!({ "content": [{ "type": "text", "text": "x" }],
                         "structured_content": { "b": 2 } });
    assert_eq!(events_of_item[0]["item"]["result"], result);
}

#[test]
fn agent_call_is_reported() {
    let mut events = ExecEvents::default();
    let item = |status: &str, states: Value| {
        json!({ "item": {
            "type": "collabAgentToolCall", "id": "c", "tool": "spawnAgent", "status": status,
            "senderThreadId": "t", "receiverThreadIds": ["a"], "prompt": "go", "model": null,
            "reasoningEffort": null, "agentsStates": states,
        } })
    };
    let started = on_notification(&mut events, "item/started", item("inProgress", json!({})));
    assert_eq!(started[0]["item"]["type"], "collab_tool_call");
    assert_eq!(started[0]["item"]["status"], "in_progress");
    let states = json!({ "a": { "status": "pendingInit", "message": null } });
    let ended = on_notification(&mut events, "item/completed", item("completed", states));
    let expected = json!({
        "id": "item_0", "type": "collab_tool_call", "tool": "spawn_agent", "status": "completed",
        "sender_thread_id": "t", "receiver_thread_ids": ["a"], "prompt": "go",
        "agents_states": { "a": { "status": "pending_init", "message": null } },
    });
    assert_eq!(
        ended,
        [json!({ "type": "item.completed", "item": expected })]
    );
}
