//! The state of a call whose turn runs. Pure.
//!
//! Under the rules without a handshake a call is a series of requests: one that needs answers is replied to with the
//! questions, and the next one brings the answers. Between them no request is open.

use std::collections::HashMap;

use codex_app_server_protocol::ServerRequest;
use codex_app_server_protocol::v2::FileUpdateChange;
use codex_json_rpc::{JsonRpcId, Responder};
use codex_protocol::Event;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::item_events::patch_begun;
use crate::revision::Rules;

/// A `tools/call` request.
#[derive(Debug)]
pub(crate) struct ToolCallRequest {
    pub(crate) responder: Responder,
    pub(crate) rules: Rules,
    /// The token for progress notifications.
    pub(crate) progress: Option<Value>,
}

#[derive(Debug)]
pub(crate) struct ActiveCall {
    /// None while the client collects answers.
    request: Option<ToolCallRequest>,
    questions: Vec<Question>,
    asked: u64,
    /// The result, if the turn ended while no request was open.
    result: Option<Value>,
    pub(crate) last_message: String,
    /// The patches that have begun and not ended, by item.
    patches: HashMap<String, BegunPatch>,
    steps: u64,
}

#[derive(Debug)]
struct BegunPatch {
    turn: String,
    changes: Vec<FileUpdateChange>,
    /// Whether the client has the event of its begin.
    is_told: bool,
}

#[derive(Debug)]
struct Question {
    key: String,
    form: Value,
    answer: oneshot::Sender<Value>,
}

/// A reply to one of the requests of a call.
#[derive(Debug)]
pub(crate) struct CallReply {
    pub(crate) request: ToolCallRequest,
    pub(crate) result: Value,
}

impl ActiveCall {
    pub(crate) fn new(request: ToolCallRequest) -> Self {
        Self {
            request: Some(request),
            questions: Vec::new(),
            asked: 0,
            result: None,
            last_message: String::new(),
            patches: HashMap::new(),
            steps: 0,
        }
    }

    pub(crate) fn request(&self) -> Option<&ToolCallRequest> {
        self.request.as_ref()
    }

    pub(crate) fn begin_patch(&mut self, turn: &str, item: &str, changes: &[FileUpdateChange]) {
        let patch = BegunPatch {
            turn: turn.to_owned(),
            changes: changes.to_vec(),
            is_told: false,
        };
        self.patches.insert(item.to_owned(), patch);
    }

    /// The changes that a question is about; none if they are not known.
    pub(crate) fn changes_of(&self, question: &ServerRequest) -> Vec<FileUpdateChange> {
        let ServerRequest::FileChangeRequestApproval(it) = question else {
            return Vec::new();
        };
        let patch = self.patches.get(&it.item_id);
        patch.map_or_else(Vec::new, |patch| patch.changes.clone())
    }

    /// The event of the begin of a patch that is asked about, once.
    pub(crate) fn patch_asked(&mut self, item: &str) -> Option<Event> {
        let patch = self.patches.get_mut(item)?;
        let was_told = std::mem::replace(&mut patch.is_told, true);
        (!was_told).then(|| patch_begun(&patch.turn, item, &patch.changes, false))
    }

    /// The event of the begin of a patch that has ended, if nobody was asked about it.
    pub(crate) fn patch_ended(&mut self, item: &str) -> Option<Event> {
        let patch = self.patches.remove(item)?;
        (!patch.is_told).then(|| patch_begun(&patch.turn, item, &patch.changes, true))
    }

    pub(crate) fn into_request(self) -> Option<ToolCallRequest> {
        self.request
    }

    pub(crate) fn has(&self, id: &JsonRpcId) -> bool {
        let request = self.request.as_ref();
        request.is_some_and(|request| request.responder.id() == id)
    }

    /// The token and number of the next progress notification, if the client wants any.
    pub(crate) fn next_step(&mut self) -> Option<(Value, u64)> {
        let token = self.request.as_ref()?.progress.clone()?;
        self.steps += 1;
        Some((token, self.steps))
    }

    /// Adds a question. Returns where its answer will come, and the reply that asks the client.
    pub(crate) fn ask(
        &mut self,
        thread: &str,
        form: Value,
    ) -> (oneshot::Receiver<Value>, Option<CallReply>) {
        let (answer, answered) = oneshot::channel();
        self.asked += 1;
        let key = format!("approval-{}", self.asked);
        self.questions.push(Question { key, form, answer });
        (answered, self.round(thread))
    }

    /// The reply with all questions that have no answer, if there are any.
    fn round(&mut self, thread: &str) -> Option<CallReply> {
        self.questions
            .retain(|question| !question.answer.is_closed());
        if self.questions.is_empty() {
            return None;
        }
        let request = self.request.take()?;
        let questions = self.questions.iter().map(|Question { key, form, .. }| {
            let question = json!({ "method": "elicitation/create", "params": form });
            (key.clone(), question)
        });
        let questions: Map<_, _> = questions.collect();
        let result = json!({ "resultType": "input_required", "inputRequests": questions,
                             "requestState": thread });
        Some(CallReply { request, result })
    }

    /// Whether the client collects answers, so that no request is open.
    pub(crate) fn is_waiting(&self) -> bool {
        self.request.is_none()
    }

    /// Goes on with a request that brings answers to a waiting call.
    pub(crate) fn resume(
        &mut self,
        thread: &str,
        request: ToolCallRequest,
        answers: &Map<String, Value>,
    ) -> Option<CallReply> {
        self.request = Some(request);
        let questions = std::mem::take(&mut self.questions);
        for question in questions {
            match answers.get(&question.key) {
                Some(answer) => {
                    let _ = question.answer.send(answer.clone());
                }
                None => self.questions.push(question),
            }
        }
        match self.result.take() {
            Some(result) => self
                .request
                .take()
                .map(|request| CallReply { request, result }),
            None => self.round(thread),
        }
    }

    /// Whether the result has been sent, or is about to be.
    pub(crate) fn is_over(&self) -> bool {
        self.request.is_none() && self.questions.is_empty() && self.result.is_none()
    }

    /// The turn ended. Without an open request the result waits for the next one.
    pub(crate) fn end(&mut self, result: Value) -> Option<CallReply> {
        self.questions.clear();
        match self.request.take() {
            Some(request) => Some(CallReply { request, result }),
            None => {
                self.result = Some(result);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codex_json_rpc::Peer;

    fn request(peer: &Peer, id: i64) -> ToolCallRequest {
        ToolCallRequest {
            responder: peer.responder(JsonRpcId::Number(id)).unwrap(),
            rules: Rules::Stateless { can_elicit: true },
            progress: None,
        }
    }

    #[tokio::test]
    async fn mcp_questions_travel_in_replies() {
        let (peer, _lines) = Peer::new("cancel");
        let mut call = ActiveCall::new(request(&peer, 1));
        let (first, reply) = call.ask("t", json!("one"));
        let reply = reply.unwrap();
        assert_eq!(reply.result["requestState"], "t");
        assert_eq!(reply.result["inputRequests"]["approval-1"]["params"], "one");
        // No request is open, so this one waits for the next reply.
        let (second, reply) = call.ask("t", json!("two"));
        assert!(reply.is_none());
        let answers = Map::from_iter([("approval-1".to_owned(), json!("yes"))]);
        let again = call.resume("t", request(&peer, 2), &answers);
        assert_eq!(first.await.unwrap(), "yes");
        let asked = again.unwrap().result["inputRequests"].clone();
        assert_eq!(asked.as_object().unwrap().len(), 1);
        drop(second);
        assert!(call.end(json!("done")).is_none());
        let late = call.resume("t", request(&peer, 3), &Map::new());
        assert_eq!(late.unwrap().result, "done");
        assert!(call.is_over());
    }

    #[tokio::test]
    async fn a_call_has_one_open_request() {
        let (peer, _lines) = Peer::new("cancel");
        let mut call = ActiveCall::new(request(&peer, 1));
        assert!(call.has(&JsonRpcId::Number(1)));
        assert!(!call.is_waiting());
        assert!(call.end(json!("done")).is_some() && call.is_over());
    }
}
