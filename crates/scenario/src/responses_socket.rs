//! The Responses API of a scripted model on one websocket.
//!
//! A request may continue the last response of its connection. It is completed with what came before, because the script
//! is about whole requests.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::http_reply::HttpReply;
use crate::player::{ScenarioPlayer, refused};
use crate::socket_server::SocketSession;
use crate::sse;

pub(crate) struct ResponsesSocket {
    player: Arc<Mutex<ScenarioPlayer>>,
    /// The thread that the connection is for, if its client says so.
    thread: Option<String>,
    last: Option<LastResponse>,
    warmed: usize,
}

struct LastResponse {
    id: String,
    /// The input of its request, and its items.
    conversation: Vec<Value>,
}

impl ResponsesSocket {
    pub(crate) fn new(player: Arc<Mutex<ScenarioPlayer>>, thread: Option<String>) -> Self {
        Self {
            player,
            thread,
            last: None,
            warmed: 0,
        }
    }

    /// The whole input of a request; none if it continues a response that is not the last one.
    fn whole_input(&mut self, request: &mut Value) -> Option<Vec<Value>> {
        let last = self.last.take();
        let Value::Array(new) = request["input"].take() else {
            return Some(Vec::new());
        };
        let mut input = match request.get("previous_response_id").and_then(Value::as_str) {
            None => Vec::new(),
            Some(id) => last.filter(|last| last.id == id)?.conversation,
        };
        input.extend(new);
        Some(input)
    }

    /// The reply that only prepares a response.
    fn warm(&mut self, conversation: Vec<Value>) -> HttpReply {
        self.warmed += 1;
        let id = format!("warm_{}", self.warmed);
        let reply = HttpReply::stream(&[sse::created(&id), sse::completed(&id)]);
        self.last = Some(LastResponse { id, conversation });
        reply
    }
}

impl SocketSession for ResponsesSocket {
    fn message(&mut self, text: &str) -> HttpReply {
        let Ok(mut request) = serde_json::from_str::<Value>(text) else {
            return refused(400, json!({"message": "the message is not JSON"}));
        };
        if request["type"] != "response.create" {
            let reason = format!(
                "a scripted model takes no message of type {}",
                request["type"]
            );
            return refused(400, json!({ "message": reason }));
        }
        let Some(mut conversation) = self.whole_input(&mut request) else {
            let code = "previous_response_not_found";
            return refused(
                400,
                json!({"code": code, "message": "that is not the last response"}),
            );
        };
        if request["generate"] == false {
            return self.warm(conversation);
        }
        request["input"] = Value::from(conversation.clone());
        let request = request.to_string();
        let reply = (self.player.lock()).reply(self.thread.as_deref(), request.as_bytes());
        let mut id = None;
        for message in sse::messages(&reply.bytes()) {
            let mut event: Value = serde_json::from_str(&message).unwrap_or_default();
            match event["type"].as_str() {
                Some("response.output_item.done") => conversation.push(event["item"].take()),
                Some("response.completed") => {
                    id = event["response"]["id"].as_str().map(str::to_owned);
                }
                _ => {}
            }
        }
        self.last = id.map(|id| LastResponse { id, conversation });
        reply
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Scenario;

    #[test]
    fn a_request_continues_the_last_response_only() {
        let text = "description = \"a test\"\n[[replies]]\nwhen = { user = \"hello\" }\nrepeat = true\n\
                    steps = [{ message = \"yes\" }]\n";
        let scenario = Scenario::from_toml("test", text).unwrap();
        let player = Arc::new(Mutex::new(ScenarioPlayer::new(scenario)));
        let mut socket = ResponsesSocket::new(player, None);
        let mut ask = |request: Value| {
            let mut request = request;
            request["type"] = json!("response.create");
            socket.message(&request.to_string()).to_string()
        };
        let user = json!({"type": "message", "role": "user",
                          "content": [{"type": "input_text", "text": "hello"}]});
        let output = json!({"type": "function_call_output", "call_id": "c", "output": "x"});
        assert!(ask(json!({"generate": false, "input": []})).contains("warm_1"));
        let first = ask(json!({"previous_response_id": "warm_1", "input": [user]}));
        assert!(first.contains("resp_1"), "{first}");
        let next = ask(json!({"previous_response_id": "resp_1", "input": [output]}));
        assert!(next.contains("resp_2"), "{next}");
        let old = ask(json!({"previous_response_id": "resp_1", "input": []}));
        assert!(old.contains("previous_response_not_found"), "{old}");
        let forgotten = ask(json!({"previous_response_id": "resp_2", "input": []}));
        assert!(
            forgotten.contains("previous_response_not_found"),
            "{forgotten}"
        );
    }
}
