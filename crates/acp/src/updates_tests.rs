use serde_json::{Value, json};

use super::*;

#[derive(Default)]
struct TestProjection {
    projection: Projection,
    client_features: ClientFeatures,
}

impl TestProjection {
    fn with_features(client_features: ClientFeatures) -> Self {
        Self {
            client_features,
            ..Self::default()
        }
    }

    fn notified(&mut self, method: &str, mut params: Value) -> Vec<Value> {
        params["threadId"] = json!("t");
        params["turnId"] = json!("u");
        let params = serde_json::value::to_raw_value(&params).unwrap();
        let notification = ServerNotification::read(method, Some(&params)).unwrap();
        assert_eq!(notification.thread_id(), Some("t"));
        let updates = self
            .projection
            .notified(&notification, vec![], self.client_features);
        updates.iter().map(|update| json!(update)).collect()
    }

    fn item(&mut self, method: &str, item: Value) -> Vec<Value> {
        self.notified(method, json!({ "item": item }))
    }

    fn end_turn(&mut self) -> Vec<Value> {
        let turn = json!({ "id": "u", "items": [], "status": "completed", "error": null });
        self.notified("turn/completed", json!({ "turn": turn }))
    }
}

fn text(kind: &str, text: &str, id: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text }, "messageId": id })
}

fn message(words: &str) -> Value {
    json!({ "type": "agentMessage", "id": "m", "text": words, "phase": null, "memoryCitation": null })
}

fn command(status: &str) -> Value {
    json!({ "type": "commandExecution", "id": "c", "command": "ls", "cwd": "/w", "processId": null,
            "status": status, "commandActions": [], "aggregatedOutput": null, "exitCode": null,
            "durationMs": null })
}

#[test]
fn streamed_message_is_not_repeated_at_its_end() {
    let mut projection = TestProjection::default();
    let delta = projection.notified(
        "item/agentMessage/delta",
        json!({ "itemId": "m", "delta": "hi" }),
    );
    assert_eq!(delta, [text("agent_message_chunk", "hi", "m")]);
    assert!(projection.item("item/completed", message("hi")).is_empty());
    let whole = projection.item("item/completed", message("again"));
    assert_eq!(whole, [text("agent_message_chunk", "again", "m")]);
}

#[test]
fn a_new_part_of_a_summary_begins_a_paragraph() {
    let mut projection = TestProjection::default();
    let mut part = |index: i64| {
        let params = json!({ "itemId": "r", "delta": "x", "summaryIndex": index });
        projection
            .notified("item/reasoning/summaryTextDelta", params)
            .remove(0)
    };
    assert_eq!(part(0), text("agent_thought_chunk", "x", "r"));
    assert_eq!(part(0), text("agent_thought_chunk", "x", "r"));
    assert_eq!(part(1), text("agent_thought_chunk", "\n\nx", "r"));
}

#[test]
fn tool_call_is_sent_whole_once_and_ends_once() {
    let mut projection = TestProjection::default();
    let begun = projection.item("item/started", command("inProgress"));
    assert_eq!(begun[0]["sessionUpdate"], "tool_call");
    let ended = projection.item("item/completed", command("declined"));
    assert_eq!(ended[0]["sessionUpdate"], "tool_call_update");
    assert_eq!(ended[0]["status"], "failed");
    assert!(projection.end_turn().is_empty());
}

#[test]
fn turn_end_ends_open_updates() {
    let mut projection = TestProjection::default();
    projection.item("item/started", command("inProgress"));
    let expected =
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed" });
    assert_eq!(projection.end_turn(), [expected]);
    assert!(projection.end_turn().is_empty());
}

#[test]
fn output_is_sent_to_client_terminals() {
    let output = json!({ "itemId": "c", "delta": "x" });
    let mut projection = TestProjection::default();
    projection.item("item/started", command("inProgress"));
    assert!(
        projection
            .notified("item/commandExecution/outputDelta", output.clone())
            .is_empty()
    );
    let mut projection = TestProjection::with_features(ClientFeatures {
        terminal_output: true,
        ..ClientFeatures::default()
    });
    projection.item("item/started", command("inProgress"));
    let piece = projection.notified("item/commandExecution/outputDelta", output);
    let expected = json!({ "terminal_output": { "terminal_id": "c", "data": "x" } });
    assert_eq!(piece[0]["_meta"], expected);
    let mut whole = command("completed");
    whole["aggregatedOutput"] = json!("xyz");
    let ended = projection.item("item/completed", whole);
    assert_eq!(ended[0]["_meta"]["terminal_output"]["data"], "yz");
    assert_eq!(ended[1]["status"], "completed");
}

#[test]
fn updates_without_client_support_are_not_sent() {
    let warning = json!({ "message": "odd" });
    let update = |client_features: ClientFeatures| {
        TestProjection::with_features(client_features)
            .notified("warning", warning.clone())
            .remove(0)
    };
    assert_eq!(
        update(ClientFeatures::default())["sessionUpdate"],
        "agent_message_chunk"
    );
    let notices = ClientFeatures {
        notices: true,
        ..ClientFeatures::default()
    };
    let expected = json!({ "sessionUpdate": "notice", "severity": "warning", "title": "odd" });
    assert_eq!(update(notices), expected);
    let compaction = json!({ "type": "contextCompaction", "id": "k" });
    let begun = |client_features: ClientFeatures| {
        TestProjection::with_features(client_features)
            .item("item/started", compaction.clone())
            .remove(0)
    };
    assert_eq!(begun(ClientFeatures::default())["kind"], "think");
    let offered = ClientFeatures {
        compaction: true,
        ..ClientFeatures::default()
    };
    let expected = json!({ "sessionUpdate": "compaction_update", "compactionId": "k",
                           "status": "in_progress" });
    assert_eq!(begun(offered), expected);
}

#[test]
fn usage_update_is_sent_on_change() {
    let mut projection = TestProjection::default();
    let count = |tokens: i64| {
        let sum = json!({ "totalTokens": tokens, "inputTokens": 0, "cachedInputTokens": 0,
                          "outputTokens": 0, "reasoningOutputTokens": 0 });
        json!({ "tokenUsage": { "total": sum, "last": sum, "modelContextWindow": 100 } })
    };
    let expected = json!({ "sessionUpdate": "usage_update", "used": 7, "size": 100 });
    assert_eq!(
        projection.notified("thread/tokenUsage/updated", count(7)),
        [expected]
    );
    assert!(
        projection
            .notified("thread/tokenUsage/updated", count(7))
            .is_empty()
    );
}
