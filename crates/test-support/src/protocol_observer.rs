//! Checks that an app-server keeps the promises of the protocol: one reply per request; each turn and each item
//! starts once and ends once.
//!
//! Four exceptions belong to the protocol: a declined command or file change may end twice; a declined command may
//! end without having started; a message, plan, reasoning, command, MCP call or agent call that is unfinished when
//! its turn is interrupted ends with the turn, whose items contain it; a compaction that fails ends with its turn.
//! Reviews are a fifth, see [`Reviews`].
//!
//! A client that subscribes to a thread during a turn learns from the reply what has started: see
//! [`ProtocolObserver::joins`].

use std::collections::HashMap;

use serde_json::Value;

/// Records what has started and not yet ended.
#[derive(Debug, Default)]
pub struct ProtocolObserver {
    requests: HashMap<String, bool>,
    turns: HashMap<String, bool>,
    items: HashMap<String, ObservedItem>,
    reviews: Reviews,
}

/// The threads under review, which clients expect to be reported differently: the turn starts under another id than
/// it ends with, messages of the reviewer start and do not end, and the items at both ends of a review share an id.
#[derive(Debug, Default)]
struct Reviews(HashMap<String, String>);

impl Reviews {
    /// Whether a message belongs to a review and is exempt from the checks.
    fn takes(&mut self, method: &str, params: &Value) -> bool {
        let thread = params["threadId"].to_string();
        let kind = params["item"]["type"].as_str().unwrap_or_default();
        match (method, kind) {
            (_, "enteredReviewMode") => {
                self.0.insert(thread, params["turnId"].to_string());
                true
            }
            (_, "exitedReviewMode") => {
                if method == "item/completed" {
                    self.0.insert(thread, String::new());
                }
                true
            }
            ("turn/started", _) => self.0.contains_key(&thread),
            ("turn/completed", _) => self.0.remove(&thread).is_some(),
            ("item/started", "agentMessage") => {
                self.0.get(&thread).is_some_and(|turn| !turn.is_empty())
            }
            _ => false,
        }
    }
}

/// The state of an item.
#[derive(Debug, Default)]
struct ObservedItem {
    turn: String,
    kind: String,
    ends: u32,
    /// It was declined, or nobody could approve it.
    refused: bool,
    /// It started before the client subscribed, and may already have ended.
    known: bool,
}

impl ProtocolObserver {
    /// Records a message of the client.
    pub fn sent(&mut self, message: &Value) {
        let is_answer = ["result", "error"]
            .iter()
            .any(|part| message.get(part).is_some());
        if let Some(id) = message.get("id").filter(|_| !is_answer) {
            self.requests.insert(id.to_string(), false);
        }
    }

    /// Checks a message of the server.
    ///
    /// # Panics
    /// The message breaks a promise.
    pub fn received(&mut self, message: &Value) {
        let Some(method) = message["method"].as_str() else {
            if !message["id"].is_null() {
                end(&mut self.requests, "request", &message["id"].to_string());
            }
            return self.joins(&message["result"]["thread"]);
        };
        let params = &message["params"];
        let thread = &params["threadId"];
        let turn = format!("{thread} {}", params["turn"]["id"]);
        let item = format!("{thread} {}", params["item"]["id"]);
        if self.reviews.takes(method, params) {
            return;
        }
        match method {
            "turn/started" => begin(&mut self.turns, "turn", &turn),
            "turn/completed" => {
                end(&mut self.turns, "turn", &turn);
                self.end_what_was_cut_short(&turn, &params["turn"]);
            }
            "item/started" => self.item_begins(item, params),
            "item/completed" => self.item_ends(&item, &params["item"]),
            _ => {}
        }
    }

    /// Records the running turn and its items in a thread that the client subscribes to.
    fn joins(&mut self, thread: &Value) {
        let turns = thread["turns"].as_array().into_iter().flatten();
        for turn in turns.filter(|turn| turn["status"] == "inProgress") {
            let id = format!("{} {}", thread["id"], turn["id"]);
            self.turns.entry(id.clone()).or_insert(false);
            for item in turn["items"].as_array().into_iter().flatten() {
                let known = ObservedItem {
                    turn: id.clone(),
                    kind: text(&item["type"]),
                    known: true,
                    ..ObservedItem::default()
                };
                let item = format!("{} {}", thread["id"], item["id"]);
                self.items.entry(item).or_insert(known);
            }
        }
    }

    fn item_begins(&mut self, id: String, params: &Value) {
        let begun = ObservedItem {
            turn: format!("{} {}", params["threadId"], params["turnId"]),
            kind: text(&params["item"]["type"]),
            ..ObservedItem::default()
        };
        let before = self.items.insert(id.clone(), begun);
        let is_new = before.is_none_or(|before| before.known);
        assert!(is_new, "item {id} begins twice");
    }

    fn item_ends(&mut self, id: &str, value: &Value) {
        let status = value["status"].as_str().unwrap_or_default();
        let is_command = value["type"] == "commandExecution";
        if is_command && status == "declined" {
            self.items.entry(id.to_owned()).or_default();
        }
        let Some(item) = self.items.get_mut(id) else {
            panic!("item {id} ends without having begun");
        };
        let was_refused =
            std::mem::replace(&mut item.refused, matches!(status, "declined" | "failed"));
        let again = was_refused && status == "declined" && item.ends == 1;
        assert!(item.ends == 0 || again, "item {id} ends twice");
        item.ends += 1;
    }

    /// Ends the unfinished items of an interrupted turn.
    fn end_what_was_cut_short(&mut self, turn: &str, value: &Value) {
        let compactions = self.items.values_mut().filter(|item| {
            item.turn == turn && item.kind == "contextCompaction" && value["status"] != "completed"
        });
        compactions.for_each(|item| item.ends = 1);
        if value["status"] != "interrupted" {
            return;
        }
        let kinds = [
            "agentMessage",
            "plan",
            "reasoning",
            "commandExecution",
            "mcpToolCall",
            "collabAgentToolCall",
        ];
        let open = |item: &ObservedItem| item.turn == turn && item.ends == 0;
        for (id, item) in self.items.iter_mut().filter(|(_, item)| open(item)) {
            let items = value["items"].as_array();
            // Items that are still in progress continue in the background and end later.
            let is_it = |other: &Value| {
                other["status"] != "inProgress" && id.ends_with(&format!(" {}", other["id"]))
            };
            let is_there = items.is_some_and(|items| items.iter().any(is_it));
            if kinds.contains(&item.kind.as_str()) && is_there {
                item.ends = 1;
            }
        }
    }

    /// Checks that nothing is unfinished.
    ///
    /// # Panics
    /// Something has started and not ended.
    pub fn finish(&self) {
        for (kind, all) in [("request", &self.requests), ("turn", &self.turns)] {
            let open: Vec<_> = all.iter().filter(|(_, ended)| !**ended).collect();
            assert!(open.is_empty(), "{kind} without an end: {open:?}");
        }
        let is_open = |item: &ObservedItem| item.ends == 0 && !item.known;
        let open: Vec<_> = self.items.iter().filter(|item| is_open(item.1)).collect();
        assert!(open.is_empty(), "item without an end: {open:?}");
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn begin(all: &mut HashMap<String, bool>, kind: &str, id: &str) {
    let before = all.insert(id.to_owned(), false);
    assert!(before.is_none(), "{kind} {id} begins twice");
}

fn end(all: &mut HashMap<String, bool>, kind: &str, id: &str) {
    match all.insert(id.to_owned(), true) {
        Some(false) => {}
        Some(true) => panic!("{kind} {id} ends twice"),
        None => panic!("{kind} {id} ends without having begun"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_conversation_that_keeps_its_promises_passes() {
        let mut observer = ProtocolObserver::default();
        observer.sent(&json!({ "id": 1, "method": "turn/start" }));
        observer.received(&json!({ "id": 1, "result": {} }));
        for method in ["turn/started", "turn/completed"] {
            let params = json!({ "threadId": "t", "turn": { "id": "u" } });
            observer.received(&json!({ "method": method, "params": params }));
        }
        observer.finish();
    }

    fn item(method: &str, item: &Value) -> Value {
        let params = json!({ "threadId": "t", "turnId": "u", "item": item });
        json!({ "method": method, "params": params })
    }

    #[test]
    fn what_was_declined_may_end_twice_and_what_was_written_with_its_turn() {
        let mut observer = ProtocolObserver::default();
        let declined = json!({ "id": "c", "type": "commandExecution", "status": "declined" });
        let written = json!({ "id": "m", "type": "agentMessage" });
        let turn = json!({ "id": "u", "status": "interrupted", "items": [declined, written] });
        let turn =
            |method: &str| json!({ "method": method, "params": { "threadId": "t", "turn": turn } });
        for message in [
            turn("turn/started"),
            item("item/started", &declined),
            item("item/completed", &declined),
            item("item/completed", &declined),
            item("item/started", &written),
            turn("turn/completed"),
        ] {
            observer.received(&message);
        }
        observer.finish();
    }

    #[test]
    #[should_panic(expected = "item \"t\" \"c\" ends twice")]
    fn a_third_end_is_noticed() {
        let mut observer = ProtocolObserver::default();
        let declined = json!({ "id": "c", "type": "fileChange", "status": "declined" });
        observer.received(&item("item/started", &declined));
        for _ in 0..3 {
            observer.received(&item("item/completed", &declined));
        }
    }

    #[test]
    #[should_panic(expected = "item without an end")]
    fn a_command_that_goes_on_does_not_end_with_its_turn() {
        let mut observer = ProtocolObserver::default();
        let command = json!({ "id": "c", "type": "commandExecution", "status": "inProgress" });
        let turn = json!({ "id": "u", "status": "interrupted", "items": [command] });
        observer.received(&item("item/started", &command));
        let params = json!({ "threadId": "t", "turn": turn });
        observer.received(&json!({ "method": "turn/started", "params": params }));
        observer.received(&json!({ "method": "turn/completed", "params": params }));
        observer.finish();
    }

    #[test]
    #[should_panic(expected = "ends twice")]
    fn a_second_reply_is_noticed() {
        let mut observer = ProtocolObserver::default();
        observer.sent(&json!({ "id": 1, "method": "turn/start" }));
        observer.received(&json!({ "id": 1, "result": {} }));
        observer.received(&json!({ "id": 1, "error": {} }));
    }
}
