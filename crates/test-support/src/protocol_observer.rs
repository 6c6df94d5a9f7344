//! Checks that an app-server keeps the promises of the protocol: one reply per request; each turn and each item
//! starts once and ends once, nothing comes after an end, and ids belong together; and that every message is valid under
//! each generated schema that its client could have.
//!
//! Two things may come after the end of a turn: a terminal in the background ends when its process does, also for clients that
//! subscribed after that, and the use
//! of tokens is repeated for a client that subscribes later. Two kinds of items are not among those of their turn: a
//! compaction that fails, which has changed nothing, and messages of a reviewer, which its result repeats.
//!
//! Two exceptions belong to the older forms of the protocol. For clients of 0.117, a command or patch that was declined may
//! end twice. For clients of all releases, a message, plan, reasoning, command or call that is unfinished when its turn is
//! interrupted may have no end of its own: the turn has it.
//!
//! A client that subscribes to a thread during a turn learns from the reply what has started: see
//! [`ProtocolObserver::joins`].

use std::collections::{HashMap, HashSet};

use codex_protocol::Release;
use serde_json::Value;

use crate::MessageCheck;
use crate::message_schemas::ClientSchemas;

/// The kinds of items that may end with their turn if that is interrupted.
const MAY_BE_CUT: [&str; 6] = [
    "agentMessage",
    "plan",
    "reasoning",
    "commandExecution",
    "mcpToolCall",
    "collabAgentToolCall",
];

/// Records what has started and not yet ended.
#[derive(Debug, Default)]
pub struct ProtocolObserver {
    requests: HashMap<String, bool>,
    /// The requests without a reply whose reply shows a thread and does not subscribe to it.
    reads: HashSet<String>,
    /// The threads that the client has not followed all the time.
    followed_in_part: HashSet<String>,
    turns: HashMap<String, ObservedTurn>,
    items: HashMap<String, ObservedItem>,
    schemas: ClientSchemas,
}

impl MessageCheck for ProtocolObserver {
    fn sent(&mut self, message: &Value) {
        Self::sent(self, message);
    }

    fn sent_wrong_answer(&mut self, message: &Value) {
        Self::sent_wrong_answer(self, message);
    }

    fn received(&mut self, message: &Value) {
        Self::received(self, message);
    }

    fn finish(&self) {
        Self::finish(self);
    }
}

/// The state of a turn.
#[derive(Debug, Default)]
struct ObservedTurn {
    has_ended: bool,
    /// It started before the client subscribed, so not all of its items are known.
    known: bool,
    /// It started for a client that has said at its start that it is newer than 0.117.
    is_newer: bool,
    /// A reviewer works.
    is_reviewed: bool,
    /// The items that have ended, in order.
    completed: Vec<Value>,
}

/// The state of an item.
#[derive(Debug, Default)]
struct ObservedItem {
    turn: String,
    id: Value,
    kind: Value,
    has_ended: bool,
    /// It has ended twice, as declined.
    has_ended_twice: bool,
    /// It has ended as declined.
    is_declined: bool,
    /// It may outlive its turn.
    is_terminal: bool,
    /// It started before the client subscribed, and may already have ended.
    known: bool,
}

impl ProtocolObserver {
    /// Records a message of the client.
    pub fn sent(&mut self, message: &Value) {
        self.schemas.sent(message);
        let is_answer = ["result", "error"]
            .iter()
            .any(|part| message.get(part).is_some());
        if let Some(id) = message.get("id").filter(|_| !is_answer) {
            if message["method"] == "thread/read" {
                self.reads.insert(id.to_string());
            }
            if message["method"] == "thread/unsubscribe" {
                self.turns_away(&message["params"]["threadId"]);
            }
            self.requests.insert(id.to_string(), false);
        }
    }

    /// Records an answer of the client that is wrong on purpose.
    ///
    /// # Panics
    /// It is right.
    pub fn sent_wrong_answer(&mut self, message: &Value) {
        self.schemas.sent_wrong_answer(message);
    }

    /// Checks a message of the server.
    ///
    /// # Panics
    /// The message breaks a promise.
    pub fn received(&mut self, message: &Value) {
        self.schemas.received(message);
        self.follow(message);
    }

    /// The server counts the client from the start as one of this release.
    pub fn be_of(&mut self, release: Release) {
        self.schemas.be_of(release);
    }

    /// Whether a request of this id has no reply yet.
    pub fn expects_reply_to(&self, id: &Value) -> bool {
        self.requests.get(&id.to_string()) == Some(&false)
    }

    fn follow(&mut self, message: &Value) {
        let Some(method) = message["method"].as_str() else {
            let id = message["id"].to_string();
            if !message["id"].is_null() {
                self.reply(&id);
            }
            if self.reads.remove(&id) {
                return;
            }
            return self.joins(&message["result"]["thread"]);
        };
        let params = &message["params"];
        let turn = format!("{} {}", params["threadId"], params["turn"]["id"]);
        match method {
            "turn/started" => {
                let begun = ObservedTurn {
                    is_newer: self.schemas.is_newer_from_the_start(),
                    ..ObservedTurn::default()
                };
                let before = self.turns.insert(turn.clone(), begun);
                assert!(before.is_none(), "turn {turn} begins twice");
            }
            "turn/completed" => self.turn_ends(&turn, &params["turn"]),
            "item/started" => self.item_begins(params),
            "item/completed" => self.item_ends(params),
            _ if method.starts_with("item/") => self.item_goes_on(method, params),
            "turn/diff/updated" | "turn/plan/updated" | "error" | "model/rerouted" => {
                let turn = format!("{} {}", params["threadId"], params["turnId"]);
                let ended = self.turns.get(&turn).is_some_and(|turn| turn.has_ended);
                assert!(!ended, "{method} after the end of turn {turn}");
            }
            _ => {}
        }
    }

    fn reply(&mut self, id: &str) {
        match self.requests.insert(id.to_owned(), true) {
            Some(false) => {}
            Some(true) => panic!("request {id} ends twice"),
            None => panic!("request {id} ends without having begun"),
        }
    }

    /// The client may miss what happens in a thread. When it is back, it is told again of commands that run on.
    fn turns_away(&mut self, thread: &Value) {
        self.followed_in_part.insert(thread.to_string());
        let of_thread = format!("{thread} ");
        for (id, item) in &mut self.items {
            item.known |= item.is_terminal && id.starts_with(&of_thread);
        }
    }

    /// Records the running turn with its items in a thread that the client subscribes to, and what runs on from earlier turns.
    fn joins(&mut self, thread: &Value) {
        if thread["id"].is_string() {
            self.followed_in_part.insert(thread["id"].to_string());
        }
        for turn in thread["turns"].as_array().into_iter().flatten() {
            let id = format!("{} {}", thread["id"], turn["id"]);
            let is_running = turn["status"] == "inProgress";
            if is_running {
                // What the client saw before may be old: it may have been away.
                let seen = self.turns.entry(id.clone()).or_default();
                seen.known = true;
            }
            let items = turn["items"].as_array().into_iter().flatten();
            for item in items.filter(|item| is_running || item["status"] == "inProgress") {
                let known = ObservedItem {
                    turn: id.clone(),
                    id: item["id"].clone(),
                    kind: item["type"].clone(),
                    is_terminal: is_terminal(item),
                    known: true,
                    ..ObservedItem::default()
                };
                let item = item_key(&thread["id"], &turn["id"], item);
                let seen = self.items.entry(item);
                seen.and_modify(|item| item.known = true).or_insert(known);
            }
        }
    }

    fn turn_ends(&mut self, id: &str, value: &Value) {
        let Some(turn) = self.turns.get_mut(id) else {
            panic!("turn {id} ends without having begun");
        };
        assert!(!turn.has_ended, "turn {id} ends twice");
        turn.has_ended = true;
        let shown: Vec<_> = value["items"].as_array().into_iter().flatten().collect();
        let mut interrupted = Vec::new();
        if value["status"] == "interrupted" {
            let is_left = |item: &&ObservedItem| {
                item.turn == id
                    && !item.has_ended
                    && MAY_BE_CUT.contains(&item.kind.as_str().unwrap_or_default())
            };
            for item in self.items.values_mut().filter(|item| is_left(&&**item)) {
                let is_it = |shown: &&&Value| {
                    shown["id"] == item.id
                        && shown["type"] == item.kind
                        && shown["status"] != "inProgress"
                };
                if shown.iter().find(is_it).is_some() {
                    item.has_ended = true;
                    interrupted.push(item.id.clone());
                }
            }
        }
        // Before it was allowed, nobody could know that it would outlive its turn.
        let is_left = |item: &&Value| item["status"] == "inProgress" && is_terminal(item);
        for left in shown.iter().copied().filter(is_left) {
            let own = |item: &&mut ObservedItem| item.turn == id && item.id == left["id"];
            for item in self.items.values_mut().filter(own) {
                item.is_terminal = true;
            }
        }
        let is_open = |item: &&ObservedItem| {
            item.turn == id && !item.has_ended && !item.known && !item.is_terminal
        };
        let open: Vec<_> = self.items.values().filter(is_open).collect();
        assert!(open.is_empty(), "turn {id} ends before its items: {open:?}");
        let terminal = |item: &&Value| item["status"] == "inProgress" && is_terminal(item);
        let ended: Vec<_> = shown.iter().filter(|item| !terminal(item)).collect();
        if !turn.known {
            let ids = |items: Vec<&Value>| -> Vec<_> {
                let id = |item: &&Value| (item["type"].clone(), item["id"].clone());
                items.iter().map(id).collect()
            };
            let streamed = ids(turn.completed.iter().collect());
            let has_own_end = |item: &&Value| !interrupted.contains(&item["id"]);
            let listed = ids(ended.into_iter().copied().filter(has_own_end).collect());
            assert_eq!(streamed, listed, "the items of turn {id}: {value}");
        }
    }

    fn item_begins(&mut self, params: &Value) {
        let id = item_key(&params["threadId"], &params["turnId"], &params["item"]);
        let may_be_late = is_terminal(&params["item"])
            && self
                .followed_in_part
                .contains(&params["threadId"].to_string());
        let turn = if may_be_late {
            format!("{} {}", params["threadId"], params["turnId"])
        } else {
            self.open_turn("item/started", params)
        };
        let begun = ObservedItem {
            turn,
            id: params["item"]["id"].clone(),
            kind: params["item"]["type"].clone(),
            is_terminal: is_terminal(&params["item"]),
            ..ObservedItem::default()
        };
        let before = self.items.insert(id.clone(), begun);
        let is_new = before.is_none_or(|before| before.known);
        assert!(is_new, "item {id} begins twice");
    }

    fn item_ends(&mut self, params: &Value) {
        let id = item_key(&params["threadId"], &params["turnId"], &params["item"]);
        let turn = format!("{} {}", params["threadId"], params["turnId"]);
        let Some(item) = self.items.get_mut(&id) else {
            panic!("item {id} ends without having begun: {params}");
        };
        let is_newer = self.turns.get(&turn).is_none_or(|turn| turn.is_newer);
        let is_declined = params["item"]["status"] == "declined";
        let is_again = item.has_ended && item.is_declined && is_declined && !is_newer;
        let may_end = !item.has_ended || (is_again && !item.has_ended_twice);
        assert!(may_end, "item {id} ends twice: {params}");
        (item.has_ended, item.is_declined) = (true, is_declined);
        item.has_ended_twice = is_again;
        if is_again {
            return;
        }
        assert_eq!(item.kind, params["item"]["type"], "the type of item {id}");
        let can_be_late = item.is_terminal;
        if let Some(turn) = self.turns.get_mut(&turn) {
            assert!(
                !turn.has_ended || can_be_late,
                "item {id} ends after its turn"
            );
            let item = &params["item"];
            turn.is_reviewed &= item["type"] != "exitedReviewMode";
            turn.is_reviewed |= item["type"] == "enteredReviewMode";
            let is_left_out = match item["type"].as_str() {
                Some("contextCompaction") => item["status"] == "failed",
                Some("agentMessage") => turn.is_reviewed,
                _ => false,
            };
            if !turn.has_ended && !is_left_out {
                turn.completed.push(item.clone());
            }
        }
    }

    /// Something is said about an item that runs.
    fn item_goes_on(&mut self, method: &str, params: &Value) {
        let id = format!(
            "{} {} {}",
            params["threadId"], params["turnId"], params["itemId"]
        );
        match self.items.get(&id) {
            Some(item) => assert!(!item.has_ended, "{method} after the end of item {id}"),
            // Questions and changes of a patch may come before the item begins.
            None if method.ends_with("elta") => panic!("{method} before the start of item {id}"),
            None => {}
        }
    }

    /// The turn that a message about an item belongs to.
    fn open_turn(&self, method: &str, params: &Value) -> String {
        let id = format!("{} {}", params["threadId"], params["turnId"]);
        match self.turns.get(&id) {
            Some(turn) => assert!(!turn.has_ended, "{method} after the end of turn {id}"),
            None => panic!("{method} before the start of turn {id}: {params}"),
        }
        id
    }

    /// Checks that nothing is unfinished.
    ///
    /// # Panics
    /// Something has started and not ended.
    pub fn finish(&self) {
        let open: Vec<_> = self.requests.iter().filter(|(_, ended)| !**ended).collect();
        assert!(open.is_empty(), "request without an end: {open:?}");
        let is_open = |turn: &ObservedTurn| !turn.has_ended;
        let open: Vec<_> = self.turns.iter().filter(|turn| is_open(turn.1)).collect();
        assert!(open.is_empty(), "turn without an end: {open:?}");
        let is_open = |item: &ObservedItem| !item.has_ended && !item.known;
        let open: Vec<_> = self.items.iter().filter(|item| is_open(item.1)).collect();
        assert!(open.is_empty(), "item without an end: {open:?}");
    }
}

/// Identifies an item. The two items around a review may have the same id.
fn item_key(thread: &Value, turn: &Value, item: &Value) -> String {
    let kind = item["type"].as_str().unwrap_or_default();
    match kind {
        "enteredReviewMode" | "exitedReviewMode" => {
            format!("{thread} {turn} {} {kind}", item["id"])
        }
        _ => format!("{thread} {turn} {}", item["id"]),
    }
}

/// Whether an item is a command that may go on in the background.
fn is_terminal(item: &Value) -> bool {
    item["source"] == "unifiedExecStartup"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn turn(method: &str, status: &str, items: &[&Value]) -> Value {
        let turn = json!({ "id": "u", "status": status, "items": items });
        json!({ "method": method, "params": { "threadId": "t", "turn": turn } })
    }

    fn item(method: &str, item: &Value) -> Value {
        let params = json!({ "threadId": "t", "turnId": "u", "item": item });
        json!({ "method": method, "params": params })
    }

    /// An observer that has seen the start of a turn and these messages.
    fn observe(messages: &[Value]) -> ProtocolObserver {
        let mut observer = ProtocolObserver::default();
        observer.follow(&turn("turn/started", "inProgress", &[]));
        messages.iter().for_each(|message| observer.follow(message));
        observer
    }

    fn message() -> Value {
        json!({ "id": "m", "type": "agentMessage" })
    }

    #[test]
    fn a_conversation_that_keeps_its_promises_passes() {
        let mut observer = observe(&[
            item("item/started", &message()),
            item("item/completed", &message()),
            turn("turn/completed", "completed", &[&message()]),
        ]);
        observer.sent(&json!({ "id": 1, "method": "turn/start" }));
        observer.follow(&json!({ "id": 1, "result": {} }));
        observer.finish();
    }

    #[test]
    fn a_terminal_may_end_after_its_turn() {
        let command = json!({
            "id": "c", "type": "commandExecution", "status": "inProgress", "source": "unifiedExecStartup",
        });
        let observer = observe(&[
            item("item/started", &command),
            turn("turn/completed", "completed", &[&command]),
            item("item/completed", &command),
        ]);
        observer.finish();
    }

    /// What a client is told that comes when a turn is over and its terminal runs on.
    fn late_terminal(methods: &[&str]) {
        let mut observer = ProtocolObserver::default();
        observer.sent(&json!({ "id": 1, "method": "thread/resume" }));
        observer.follow(&json!({ "id": 1, "result": { "thread": { "id": "t", "turns": [] } } }));
        let terminal =
            json!({ "id": "c", "type": "commandExecution", "source": "unifiedExecStartup" });
        for method in methods {
            observer.follow(&item(method, &terminal));
        }
        observer.finish();
    }

    #[test]
    fn late_client_sees_terminal_begin() {
        late_terminal(&["item/started", "item/completed"]);
    }

    #[test]
    #[should_panic(expected = "ends without having begun")]
    fn terminal_end_without_begin_is_reported() {
        late_terminal(&["item/completed"]);
    }

    #[test]
    fn reading_a_thread_does_not_subscribe() {
        let mut observer = ProtocolObserver::default();
        observer.sent(&json!({ "id": 1, "method": "thread/read" }));
        let turns = json!([{ "id": "u", "status": "inProgress", "items": [] }]);
        let thread = json!({ "id": "t", "turns": turns });
        observer.follow(&json!({ "id": 1, "result": { "thread": thread } }));
        observer.finish();
    }

    #[test]
    #[should_panic(expected = "ends twice")]
    fn a_second_end_is_noticed() {
        observe(&[
            item("item/started", &message()),
            item("item/completed", &message()),
            item("item/completed", &message()),
        ]);
    }

    #[test]
    #[should_panic(expected = "ends before its items")]
    fn an_item_that_is_left_open_is_noticed() {
        observe(&[
            item("item/started", &message()),
            turn("turn/completed", "completed", &[&message()]),
        ]);
    }

    #[test]
    fn an_interrupted_message_may_end_with_its_turn() {
        let observer = observe(&[
            item("item/started", &message()),
            turn("turn/completed", "interrupted", &[&message()]),
        ]);
        observer.finish();
    }

    fn declined() -> Value {
        json!({ "id": "c", "type": "commandExecution", "status": "declined" })
    }

    #[test]
    fn a_declined_command_may_end_twice_for_older_clients() {
        let ended = item("item/completed", &declined());
        let observer = observe(&[
            item("item/started", &declined()),
            ended.clone(),
            ended,
            turn("turn/completed", "completed", &[&declined()]),
        ]);
        observer.finish();
    }

    #[test]
    #[should_panic(expected = "ends twice")]
    fn a_third_end_of_a_declined_command_is_noticed() {
        let ended = item("item/completed", &declined());
        observe(&[
            item("item/started", &declined()),
            ended.clone(),
            ended.clone(),
            ended,
        ]);
    }

    #[test]
    #[should_panic(expected = "the items of turn")]
    fn an_item_that_was_not_streamed_is_noticed() {
        observe(&[turn("turn/completed", "completed", &[&message()])]);
    }

    #[test]
    #[should_panic(expected = "after the end of item")]
    fn text_after_the_end_of_its_item_is_noticed() {
        let params = json!({ "threadId": "t", "turnId": "u", "itemId": "m", "delta": "x" });
        observe(&[
            item("item/started", &message()),
            item("item/completed", &message()),
            json!({ "method": "item/agentMessage/delta", "params": params }),
        ]);
    }

    #[test]
    #[should_panic(expected = "before the start of turn")]
    fn an_item_without_a_turn_is_noticed() {
        ProtocolObserver::default().follow(&item("item/started", &message()));
    }

    #[test]
    #[should_panic(expected = "ends twice")]
    fn a_second_reply_is_noticed() {
        let mut observer = ProtocolObserver::default();
        observer.sent(&json!({ "id": 1, "method": "turn/start" }));
        observer.follow(&json!({ "id": 1, "result": {} }));
        observer.follow(&json!({ "id": 1, "error": {} }));
    }
}
