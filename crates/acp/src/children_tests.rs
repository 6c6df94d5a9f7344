use serde_json::{Value, json};

use super::*;

fn notification(method: &str, thread: &str, mut params: Value) -> ServerNotification {
    params["threadId"] = json!(thread);
    params["turnId"] = json!("u");
    let params = serde_json::value::to_raw_value(&params).unwrap();
    ServerNotification::read(method, Some(&params)).unwrap()
}

fn spawn(method: &str, agents: Value) -> ServerNotification {
    let item = json!({ "type": "collabAgentToolCall", "id": "s", "tool": "spawnAgent",
                       "status": "inProgress", "senderThreadId": "parent", "receiverThreadIds": agents,
                       "prompt": "look\nclosely", "model": null, "reasoningEffort": null,
                       "agentsStates": {} });
    notification(method, "parent", json!({ "item": item }))
}

fn delta(text: &str) -> ServerNotification {
    notification(
        "item/agentMessage/delta",
        "child",
        json!({ "itemId": "m", "delta": text }),
    )
}

fn turn(method: &str, status: &str) -> ServerNotification {
    let turn = json!({ "id": "u", "items": [], "status": status, "error": null });
    notification(method, "child", json!({ "turn": turn }))
}

fn shown(updates: Vec<SessionNotification>) -> Vec<(String, String)> {
    let shown = updates.into_iter().map(|update| {
        let update = json!(update);
        let kind = update["update"]["sessionUpdate"].as_str().unwrap();
        (
            update["sessionId"].as_str().unwrap().to_owned(),
            kind.to_owned(),
        )
    });
    shown.collect()
}

fn of_child(
    children: &mut Children,
    notification: &ServerNotification,
) -> Vec<SessionNotification> {
    children.notified("child", notification, vec![], ClientFeatures::default())
}

fn pair(session: &str, kind: &str) -> (String, String) {
    (session.to_owned(), kind.to_owned())
}

#[test]
fn client_gets_a_child_before_its_updates() {
    let mut children = Children::default();
    assert!(of_child(&mut children, &delta("nobody's")).is_empty());
    children.follow(&spawn("item/started", json!([])));
    assert!(of_child(&mut children, &turn("turn/started", "inProgress")).is_empty());
    assert!(of_child(&mut children, &delta("early")).is_empty());
    assert!(children.find("child").is_none());
    let told = children.follow(&spawn("item/completed", json!(["child"])));
    let announced = json!(told[0]);
    assert_eq!(announced["update"]["title"], "look");
    assert_eq!(announced["update"]["state"]["state"], "running");
    let expected = [
        pair("parent", "subagent_update"),
        pair("child", "agent_message_chunk"),
    ];
    assert_eq!(shown(told), expected);
    assert!(children.find("child").is_some());
    let said = of_child(&mut children, &delta("late"));
    assert_eq!(shown(said), [pair("child", "agent_message_chunk")]);
}

#[test]
fn child_closes_with_its_parent() {
    let mut children = Children::default();
    children.follow(&spawn("item/started", json!([])));
    children.follow(&spawn("item/completed", json!(["child"])));
    let ended = of_child(&mut children, &turn("turn/completed", "interrupted"));
    let state = json!(ended[0])["update"]["state"].clone();
    assert_eq!(state, json!({ "state": "idle", "stopReason": "cancelled" }));
    children.forget(&SessionId::new("parent"));
    assert!(of_child(&mut children, &delta("late")).is_empty());
}

#[test]
fn input_of_child_comes_from_its_parent() {
    let mut children = Children::default();
    children.follow(&spawn("item/started", json!([])));
    let text = json!({ "type": "text", "text": "look", "text_elements": [] });
    let item = json!({ "type": "userMessage", "id": "in", "content": [text] });
    let input = notification("item/completed", "child", json!({ "item": item }));
    assert!(of_child(&mut children, &input).is_empty());
    let told = children.follow(&spawn("item/completed", json!(["child"])));
    let message = json!(told[1])["update"].clone();
    assert_eq!(message["sessionUpdate"], "session_message");
    assert_eq!(message["senderSessionId"], "parent");
    assert_eq!(message["recipientSessionId"], "child");
    assert_eq!(message["content"][0]["text"], "look");
}

#[test]
fn agent_with_path_is_named_after_it() {
    let mut children = Children::default();
    let item = json!({ "type": "subAgentActivity", "id": "s", "kind": "started", "agentThreadId": "child",
                       "agentPath": "/root/reader" });
    let started = |method| notification(method, "parent", json!({ "item": item }));
    assert!(children.follow(&started("item/started")).is_empty());
    let updates = children.follow(&started("item/completed"));
    assert_eq!(json!(updates[0])["update"]["title"], "/root/reader");
    assert_eq!(shown(updates), [pair("parent", "subagent_update")]);
    let said = of_child(&mut children, &delta("hi"));
    assert_eq!(shown(said), [pair("child", "agent_message_chunk")]);
}
