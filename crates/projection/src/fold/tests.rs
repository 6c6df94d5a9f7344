//! Stored turns equal streamed turns, for random sequences of events.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{ThreadItem, Turn};
use codex_protocol::{
    AgentMessageContent, AgentMessageItem, ContextCompactionItem, ItemEvent, PlanItem,
    ReasoningItem, ResponseItem, RolloutItem, RolloutLine, ThreadId, TurnItem, UserInput,
    UserMessageItem,
};
use codex_rollout::{PersistedDetail, is_persisted, reduced};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[derive(Clone, Debug)]
enum StreamStep {
    Say(String),
    Answer(String),
    Think(Vec<String>, Option<String>),
    Command(ItemOutcome),
    Patch(ItemOutcome),
    Tool(bool),
    Mcp(bool),
    Search,
    Look,
    Plan(String),
    Compact,
    Fail,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ItemOutcome {
    Succeeds,
    Fails,
    Declined,
    DeclinedBeforeItBegins,
    Cancelled,
}

impl ItemOutcome {
    fn is_refusal(self) -> bool {
        !matches!(self, Self::Succeeds | Self::Fails)
    }
}

#[derive(Clone, Copy, Debug)]
enum Ending {
    Completes,
    IsReplaced,
    /// A client interrupts the turn.
    IsInterrupted,
}

fn text() -> impl Strategy<Value = String> {
    "[a-z<>\"\\\\é ]{0,8}[a-z]"
}

fn step() -> impl Strategy<Value = StreamStep> {
    let outcome = || {
        prop_oneof![
            Just(ItemOutcome::Succeeds),
            Just(ItemOutcome::Fails),
            Just(ItemOutcome::Declined),
            Just(ItemOutcome::DeclinedBeforeItBegins),
            Just(ItemOutcome::Cancelled),
        ]
    };
    prop_oneof![
        text().prop_map(StreamStep::Say),
        text().prop_map(StreamStep::Answer),
        (
            prop::collection::vec(text(), 1..3),
            prop::option::of(text())
        )
            .prop_map(|(summary, raw)| StreamStep::Think(summary, raw)),
        outcome().prop_map(StreamStep::Command),
        outcome().prop_map(StreamStep::Patch),
        any::<bool>().prop_map(StreamStep::Tool),
        any::<bool>().prop_map(StreamStep::Mcp),
        Just(StreamStep::Search),
        Just(StreamStep::Look),
        text().prop_map(StreamStep::Plan),
        Just(StreamStep::Compact),
        Just(StreamStep::Fail),
    ]
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        Just(Ending::Completes),
        Just(Ending::IsReplaced),
        Just(Ending::IsInterrupted),
    ]
}

/// A random conversation in streamed and stored form.
struct RecordedConversation {
    fold: Fold<Notifications>,
    turns: Vec<Turn>,
    sent: Vec<ServerNotification>,
    lines: Vec<String>,
    clock: i64,
    calls: usize,
}

impl RecordedConversation {
    fn new() -> Self {
        Self {
            fold: Fold::live("thread".to_owned()),
            turns: Vec::new(),
            sent: Vec::new(),
            lines: Vec::new(),
            clock: 1_772_359_200_000,
            calls: 0,
        }
    }

    fn apply(&mut self, turn: &str, event: EventMsg) {
        self.clock += 7;
        for Change {
            notification: sent,
            moment,
        } in self.fold.apply(turn, self.clock, &event)
        {
            if moment.is_of_older_forms() {
                continue;
            }
            if let ServerNotification::TurnCompleted(completed) = &sent {
                self.turns.push(completed.turn.clone());
            }
            self.sent.push(sent);
        }
        if is_persisted(&event, PersistedDetail::Extended) {
            let kept = reduced(&event).unwrap_or(event);
            self.write(RolloutItem::EventMsg(kept));
        }
    }

    fn write(&mut self, item: RolloutItem) {
        let at = jiff::Timestamp::from_millisecond(self.clock).unwrap();
        let line = RolloutLine {
            timestamp: format!("{at:.3}"),
            item,
        };
        self.lines.push(serde_json::to_string(&line).unwrap());
    }

    fn json(&mut self, turn: &str, event: Value) {
        self.apply(turn, serde_json::from_value(event).unwrap());
    }

    /// Adds an item, and the older events that repeat it.
    fn item(&mut self, turn: &str, begun: TurnItem, ended: TurnItem, twins: Vec<Value>) {
        let event = |item| ItemEvent {
            thread_id: ThreadId::new(),
            turn_id: turn.to_owned(),
            item,
        };
        self.apply(turn, EventMsg::ItemStarted(event(begun)));
        self.apply(turn, EventMsg::ItemCompleted(event(ended)));
        for twin in twins {
            self.json(turn, twin);
        }
    }

    fn step(&mut self, turn: &str, step: StreamStep) {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        match step {
            StreamStep::Say(text) => {
                let content = vec![UserInput::Text {
                    text: text.clone(),
                    text_elements: Vec::new(),
                }];
                let client_id = self.calls.is_multiple_of(2).then(|| format!("mine-{id}"));
                let mut twin = json!({ "type": "user_message", "message": text, "images": [],
                    "local_images": [], "text_elements": [] });
                if let Some(client_id) = &client_id {
                    twin["client_id"] = json!(client_id);
                }
                let item = TurnItem::UserMessage(UserMessageItem {
                    id,
                    client_id,
                    content,
                });
                self.item(turn, item.clone(), item, vec![twin]);
            }
            StreamStep::Answer(text) => {
                let item = |content| {
                    TurnItem::AgentMessage(AgentMessageItem {
                        id: id.clone(),
                        content,
                        phase: None,
                        memory_citation: None,
                        is_cut: false,
                    })
                };
                let twin = json!({ "type": "agent_message", "message": text });
                let content = vec![AgentMessageContent::Text { text }];
                self.item(turn, item(Vec::new()), item(content), vec![twin]);
            }
            StreamStep::Think(summary, raw) => self.think(turn, id, summary, raw),
            StreamStep::Command(outcome) => self.command(turn, &id, outcome),
            StreamStep::Patch(outcome) => self.patch(turn, &id, outcome),
            StreamStep::Tool(success) => {
                self.json(
                    turn,
                    json!({ "type": "dynamic_tool_call_request", "callId": id, "turnId": turn,
                        "tool": "t", "arguments": {} }),
                );
                self.json(
                    turn,
                    json!({ "type": "dynamic_tool_call_response", "call_id": id, "turn_id": turn,
                        "tool": "t", "arguments": {}, "content_items": [], "success": success,
                        "error": null, "duration": { "secs": 1, "nanos": 0 } }),
                );
            }
            StreamStep::Mcp(success) => {
                let invocation = json!({ "server": "s", "tool": "t", "arguments": { "a": 1 } });
                self.json(
                    turn,
                    json!({ "type": "mcp_tool_call_begin", "call_id": id,
                        "invocation": invocation }),
                );
                let result = if success {
                    json!({ "Ok": { "content": [], "isError": false } })
                } else {
                    json!({ "Err": "no" })
                };
                self.json(
                    turn,
                    json!({ "type": "mcp_tool_call_end", "call_id": id, "invocation": invocation,
                        "duration": { "secs": 1, "nanos": 0 }, "result": result }),
                );
            }
            StreamStep::Search => {
                let action = json!({ "type": "search", "query": "q" });
                let item = json!({ "type": "WebSearch", "id": id, "query": "q", "action": action });
                let item: TurnItem = serde_json::from_value(item).unwrap();
                let twin = json!({ "type": "web_search_end", "call_id": id, "query": "q",
                    "action": action });
                self.item(turn, item.clone(), item, vec![twin]);
            }
            StreamStep::Look => self.json(
                turn,
                json!({ "type": "view_image_tool_call", "call_id": id, "path": "/a.png" }),
            ),
            StreamStep::Plan(text) => {
                let item = |text| {
                    TurnItem::Plan(PlanItem {
                        id: id.clone(),
                        text,
                    })
                };
                self.item(turn, item(String::new()), item(text), Vec::new());
            }
            StreamStep::Compact => {
                let item = TurnItem::ContextCompaction(ContextCompactionItem { id });
                let twin = json!({ "type": "context_compacted" });
                self.item(turn, item.clone(), item, vec![twin]);
            }
            StreamStep::Fail => self.json(
                turn,
                json!({ "type": "error", "message": "m", "codex_error_info": "other" }),
            ),
        }
    }

    fn think(&mut self, turn: &str, id: String, summary: Vec<String>, raw: Option<String>) {
        let item = |summary_text, raw_content| {
            TurnItem::Reasoning(ReasoningItem {
                id: id.clone(),
                summary_text,
                raw_content,
            })
        };
        let twin = |text: &String| json!({ "type": "agent_reasoning", "text": text });
        let twins = summary.iter().map(twin).collect();
        let whole = item(summary, raw.clone().into_iter().collect());
        self.item(turn, item(Vec::new(), Vec::new()), whole, twins);
        let content = raw.map(|text| json!([{ "type": "reasoning_text", "text": text }]));
        let recorded = json!({ "type": "reasoning", "summary": [], "content": content,
            "encrypted_content": null });
        let recorded: ResponseItem = serde_json::from_value(recorded).unwrap();
        self.write(RolloutItem::ResponseItem(recorded));
    }

    fn command(&mut self, turn: &str, id: &str, outcome: ItemOutcome) {
        let command = json!({ "call_id": id, "turn_id": turn, "command": ["ls"], "cwd": "/",
            "parsed_cmd": [], "source": "agent" });
        let with = |kind: &str, more: Value| {
            let mut event = command.clone();
            let event_members = event.as_object_mut().unwrap();
            event_members.insert("type".to_owned(), kind.into());
            event_members.extend(more.as_object().unwrap().clone());
            event
        };
        // A command of `exec_command` starts only when it runs.
        if outcome != ItemOutcome::DeclinedBeforeItBegins {
            self.json(turn, with("exec_command_begin", json!({})));
        }
        if outcome.is_refusal() {
            self.json(turn, with("exec_approval_request", json!({})));
        }
        let (status, output, code) = match outcome {
            ItemOutcome::Succeeds => ("completed", "fine", 0),
            ItemOutcome::Fails => ("failed", "", 3),
            ItemOutcome::Declined | ItemOutcome::DeclinedBeforeItBegins => {
                ("declined", "rejected", -1)
            }
            ItemOutcome::Cancelled => ("declined", "", -1),
        };
        let more = json!({ "stdout": "", "stderr": "", "aggregated_output": output,
            "exit_code": code, "duration": { "secs": 0, "nanos": 5_000_000 },
            "formatted_output": "", "status": status });
        self.json(turn, with("exec_command_end", more));
    }

    fn patch(&mut self, turn: &str, id: &str, outcome: ItemOutcome) {
        let changes = json!({ "/a": { "type": "add", "content": "x\n" } });
        if outcome.is_refusal() {
            let asked = json!({ "type": "apply_patch_approval_request", "call_id": id,
                "turn_id": turn, "changes": changes });
            self.json(turn, asked);
        }
        self.json(
            turn,
            json!({ "type": "patch_apply_begin", "call_id": id, "turn_id": turn,
                "auto_approved": true, "changes": changes }),
        );
        let (status, said) = match outcome {
            ItemOutcome::Succeeds => ("completed", ""),
            ItemOutcome::Fails => ("failed", "no"),
            ItemOutcome::Declined | ItemOutcome::DeclinedBeforeItBegins => ("declined", "rejected"),
            ItemOutcome::Cancelled => ("declined", ""),
        };
        self.json(
            turn,
            json!({ "type": "patch_apply_end", "call_id": id, "turn_id": turn, "stdout": "",
                "stderr": said, "success": status == "completed", "changes": changes,
                "status": status }),
        );
    }

    fn turn(&mut self, id: &str, steps: Vec<StreamStep>, ending: Ending) {
        let started_at = self.clock / 1000;
        self.json(
            id,
            json!({ "type": "task_started", "turn_id": id, "started_at": started_at,
                "model_context_window": null }),
        );
        for step in steps {
            self.step(id, step);
        }
        let end = match ending {
            Ending::Completes => json!({ "type": "task_complete", "last_agent_message": null }),
            Ending::IsReplaced => json!({ "type": "turn_aborted", "reason": "replaced" }),
            Ending::IsInterrupted => json!({ "type": "turn_aborted", "reason": "interrupted" }),
        };
        let mut end = end;
        for (name, value) in [
            ("turn_id", json!(id)),
            ("completed_at", json!(self.clock / 1000)),
            ("duration_ms", json!(12)),
        ] {
            end[name] = value;
        }
        self.json(id, end);
    }

    fn stored(&self) -> Vec<Turn> {
        let mut fold = Fold::new(());
        for line in &self.lines {
            let line = RolloutLine::read(line).unwrap();
            let written: jiff::Timestamp = line.timestamp.parse().unwrap();
            fold.apply_stored(Some(written.as_millisecond()), &line.item);
        }
        fold.into_turns("", &()).into_vec()
    }
}

/// A turn without ids that are numbers in stored turns, and without the times of items: messages are stored a moment
/// after they were sent, and the starts of most items are not stored.
fn shape(turn: &Turn) -> Value {
    let mut value = serde_json::to_value(turn).unwrap();
    for (item, shown) in turn
        .items
        .iter()
        .zip(value["items"].as_array_mut().unwrap())
    {
        let ended = shown.as_object_mut().unwrap().remove("completedAtMs");
        assert!(ended.is_some(), "{shown}");
        shown.as_object_mut().unwrap().remove("startedAtMs");
        if matches!(
            item.item,
            ThreadItem::UserMessage { .. }
                | ThreadItem::AgentMessage { .. }
                | ThreadItem::Reasoning { .. }
                | ThreadItem::ContextCompaction { .. }
        ) {
            shown["id"] = Value::Null;
        }
    }
    value
}

/// How often each item was started and completed.
fn ends(sent: &[ServerNotification]) -> std::collections::BTreeMap<String, (u32, u32)> {
    let mut all = std::collections::BTreeMap::new();
    for sent in sent {
        match sent {
            ServerNotification::ItemStarted(started) => {
                let entry: &mut (u32, u32) = all
                    .entry(item::id_of(&started.item).to_owned())
                    .or_default();
                entry.0 += 1;
            }
            ServerNotification::ItemCompleted(completed) => {
                let entry = all
                    .entry(item::id_of(&completed.item).to_owned())
                    .or_default();
                entry.1 += 1;
            }
            _ => {}
        }
    }
    all
}

proptest! {
    #[test]
    fn streamed_turns_equal_stored_turns(
        turns in prop::collection::vec((prop::collection::vec(step(), 0..6), ending()), 1..4)
    ) {
        let mut conversation = RecordedConversation::new();
        for (number, (steps, ending)) in turns.into_iter().enumerate() {
            conversation.turn(&format!("turn-{number}"), steps, ending);
        }
        let streamed: Vec<_> = conversation.turns.iter().map(shape).collect();
        let stored: Vec<_> = conversation.stored().iter().map(shape).collect();
        prop_assert_eq!(streamed, stored);
    }

    #[test]
    fn each_begun_item_ends_once(
        steps in prop::collection::vec(step(), 0..8), ending in ending()
    ) {
        let mut conversation = RecordedConversation::new();
        conversation.turn("turn", steps, ending);
        for (id, (begins, ends)) in ends(&conversation.sent) {
            prop_assert_eq!((begins, ends), (1, 1), "{}", id);
        }
    }
}
