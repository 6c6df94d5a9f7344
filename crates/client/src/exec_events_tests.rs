use super::*;

fn hear(events: &mut ExecEvents, method: &str, mut params: Value) -> Vec<Value> {
    params["threadId"] = json!("t");
    params["turnId"] = json!("u");
    let params = serde_json::value::to_raw_value(&params).unwrap();
    events.hear(&ServerNotification::read(method, Some(&params)).unwrap())
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
    let started = hear(&mut events, "item/started", item("inProgress"));
    assert_eq!(started, expected("item.started", "in_progress"));
    let completed = hear(&mut events, "item/completed", item("completed"));
    assert_eq!(completed, expected("item.completed", "completed"));
}

#[test]
fn a_message_is_told_of_when_it_is_complete() {
    let mut events = ExecEvents::default();
    let item = json!({ "item": { "type": "agentMessage", "id": "m", "text": "hi", "phase": null,
                                 "memoryCitation": null } });
    assert!(hear(&mut events, "item/started", item.clone()).is_empty());
    let item_0 = json!({ "id": "item_0", "type": "agent_message", "text": "hi" });
    let expected = [json!({ "type": "item.completed", "item": item_0 })];
    assert_eq!(hear(&mut events, "item/completed", item), expected);
}

#[test]
fn a_plan_is_one_item_until_the_turn_ends() {
    let mut events = ExecEvents::default();
    let kinds = |events: &[Value]| -> Vec<String> {
        let kind = |event: &Value| event["type"].as_str().unwrap().to_owned();
        events.iter().map(kind).collect()
    };
    let begun = hear(&mut events, "turn/plan/updated", plan("pending"));
    assert_eq!(kinds(&begun), ["item.started"]);
    let moved = hear(&mut events, "turn/plan/updated", plan("completed"));
    assert_eq!(kinds(&moved), ["item.updated"]);
    assert_eq!(moved[0]["item"]["items"][0]["completed"], true);
    let ended = hear(
        &mut events,
        "turn/completed",
        turn("completed", Value::Null),
    );
    assert_eq!(kinds(&ended), ["item.completed", "turn.completed"]);
}

#[test]
fn a_turn_that_fails_says_why() {
    let error = json!({ "message": "no", "codexErrorInfo": null, "additionalDetails": null });
    let ended = hear(
        &mut ExecEvents::default(),
        "turn/completed",
        turn("failed", error),
    );
    assert_eq!(
        ended,
        [json!({ "type": "turn.failed", "error": { "message": "no" } })]
    );
}
