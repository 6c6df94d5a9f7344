//! Watches a conversation with an app-server and holds it to what the protocol promises: one reply for
//! each request; one end for each turn and each item, after its beginning.

use std::collections::HashMap;

use serde_json::Value;

/// What was begun and not yet ended.
#[derive(Debug, Default)]
pub struct ProtocolObserver {
    requests: HashMap<String, bool>,
    turns: HashMap<String, bool>,
    items: HashMap<String, bool>,
}

impl ProtocolObserver {
    /// The client sends this.
    pub fn sent(&mut self, message: &Value) {
        let is_answer = ["result", "error"]
            .iter()
            .any(|part| message.get(part).is_some());
        if let Some(id) = message.get("id").filter(|_| !is_answer) {
            self.requests.insert(id.to_string(), false);
        }
    }

    /// The server sends this.
    ///
    /// # Panics
    /// A promise is broken.
    pub fn received(&mut self, message: &Value) {
        let Some(method) = message["method"].as_str() else {
            if !message["id"].is_null() {
                end(&mut self.requests, "request", &message["id"].to_string());
            }
            return;
        };
        let params = &message["params"];
        let thread = &params["threadId"];
        let turn = format!("{thread} {}", params["turn"]["id"]);
        let item = format!("{thread} {}", params["item"]["id"]);
        match method {
            "turn/started" => begin(&mut self.turns, "turn", &turn),
            "turn/completed" => end(&mut self.turns, "turn", &turn),
            "item/started" => begin(&mut self.items, "item", &item),
            "item/completed" => end(&mut self.items, "item", &item),
            _ => {}
        }
    }

    /// Nothing more comes.
    ///
    /// # Panics
    /// Something was begun and not ended.
    pub fn finish(&self) {
        for (kind, all) in [
            ("request", &self.requests),
            ("turn", &self.turns),
            ("item", &self.items),
        ] {
            let open: Vec<_> = all.iter().filter(|(_, ended)| !**ended).collect();
            assert!(open.is_empty(), "{kind} without an end: {open:?}");
        }
    }
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

    #[test]
    #[should_panic(expected = "ends twice")]
    fn a_second_reply_is_noticed() {
        let mut observer = ProtocolObserver::default();
        observer.sent(&json!({ "id": 1, "method": "turn/start" }));
        observer.received(&json!({ "id": 1, "result": {} }));
        observer.received(&json!({ "id": 1, "error": {} }));
    }
}
