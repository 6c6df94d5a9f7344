//! A recorded session as a scenario: the model's part for tests of clients.
//!
//! Each request of the session becomes a reply, in the order of the log. Replies of an agent come first and apply to
//! requests whose last user message is one of that agent's, because every thread plays the script from its beginning.

mod faults;
mod steps;
mod toml_text;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use codex_rollout_trace::Recording;
use codex_rollout_trace::format::{Event, PayloadRef};
use codex_rollout_trace::ids::{ThreadId, TurnId};
use serde_json::{Value, json};

use faults::Fault;

/// Tools whose arguments name agents or terminals of the recorded session.
const TOOLS_WITH_IDS: [&str; 5] = [
    "write_stdin",
    "wait_agent",
    "send_input",
    "resume_agent",
    "close_agent",
];

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenScenario {
    /// The number of replies.
    pub replies: usize,
    /// What the scenario cannot repeat, in sentences.
    pub limits: Vec<String>,
}

/// Writes a recorded session as a scenario in TOML.
///
/// # Errors
/// The output cannot be written.
pub fn write_scenario(recording: &Recording, out: &mut impl Write) -> io::Result<WrittenScenario> {
    let session = RecordedSession::from_recording(recording);
    let mut limits = session.limits();
    limits.extend(session.unreadable.map_or_else(Vec::new, |count| {
        vec![format!(
            "{count} lines or payload files of the bundle cannot be read, and are left out"
        )]
    }));
    let text = session.text();
    out.write_all(text.as_bytes())?;
    Ok(WrittenScenario {
        replies: session.replies.len(),
        limits,
    })
}

/// A request and its response.
#[derive(Debug)]
struct RecordedReply {
    thread: ThreadId,
    turn: TurnId,
    user: Option<String>,
    items: Vec<Value>,
    usage: Option<Value>,
    end: ReplyEnd,
}

#[derive(Debug, Clone, PartialEq)]
enum ReplyEnd {
    Completed,
    Failed(String),
    /// The session gave it up, or the recording ends before it.
    Open,
}

/// What a scenario takes from a bundle.
#[derive(Debug)]
struct RecordedSession {
    root: ThreadId,
    settings: BTreeMap<&'static str, Value>,
    prompts: Vec<String>,
    replies: Vec<RecordedReply>,
    unreadable: Option<u64>,
}

impl RecordedSession {
    fn from_recording(recording: &Recording) -> Self {
        let mut reader = SessionReader {
            recording,
            open: BTreeMap::new(),
            unreadable: recording.unreadable_lines(),
            session: Self {
                root: recording.manifest().root_thread_id.clone(),
                settings: BTreeMap::new(),
                prompts: Vec::new(),
                replies: Vec::new(),
                unreadable: None,
            },
        };
        for line in recording.events() {
            reader.event(
                &line.payload,
                line.thread_id.as_ref(),
                line.codex_turn_id.as_ref(),
            );
        }
        let mut session = reader.session;
        session.unreadable = (reader.unreadable > 0).then_some(reader.unreadable);
        let mut last_turn = None;
        for reply in session
            .replies
            .iter()
            .filter(|reply| reply.thread == session.root)
        {
            if last_turn != Some(&reply.turn) {
                session.prompts.extend(reply.user.clone());
            }
            last_turn = Some(&reply.turn);
        }
        let root = session.root.clone();
        session.replies.sort_by_key(|reply| reply.thread == root);
        session
    }

    fn limits(&self) -> Vec<String> {
        let items = self.replies.iter().flat_map(|reply| &reply.items);
        let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
        for name in items.filter_map(|item| item["name"].as_str()) {
            if TOOLS_WITH_IDS.contains(&name) {
                *calls.entry(name).or_default() += 1;
            }
        }
        let limits = calls.iter().map(|(name, count)| {
            format!(
                "{count} calls of {name} name an agent or a terminal of the recorded session, \
                 which has another id in every new one"
            )
        });
        limits.collect()
    }

    /// How often the engine must repeat a request for the session to go as it went.
    fn repeats(&self) -> Option<u64> {
        let mut most = None;
        let mut failures = 0;
        let mut last_turn = None;
        for reply in &self.replies {
            if last_turn != Some(&reply.turn) {
                failures = 0;
            }
            last_turn = Some(&reply.turn);
            let is_failed = matches!(reply.end, ReplyEnd::Failed(_));
            if failures > 0 {
                most = most.max(Some(failures));
            }
            failures = if is_failed { failures + 1 } else { 0 };
            if is_failed {
                most = most.or(Some(0));
            }
        }
        most
    }

    fn text(&self) -> String {
        let mut text = format!(
            "description = {}\n",
            toml_text::value(&json!(format!("Recorded from thread {}.", self.root)))
        );
        if !self.settings.is_empty() {
            text.push_str("\n[settings]\n");
            for (name, value) in &self.settings {
                let _ = writeln!(text, "{name} = {}", toml_text::value(value));
            }
        }
        if let Some(repeats) = self.repeats() {
            let _ = write!(text, "\n[retries]\nrequests = 0\nstreams = {repeats}\n");
            let stalls = |reply: &RecordedReply| matches!(&reply.end, ReplyEnd::Failed(error) if faults::fault(error) == Fault::Step(json!("stall")));
            if self.replies.iter().any(stalls) {
                text.push_str("idle_timeout_ms = 1000\n");
            }
        }
        if !self.prompts.is_empty() {
            text.push_str("\n[session]\nprompts = [\n");
            for prompt in &self.prompts {
                let _ = writeln!(text, "  {},", toml_text::value(&json!(prompt)));
            }
            text.push_str("]\n");
        }
        for reply in &self.replies {
            self.reply(reply, &mut text);
        }
        text
    }

    fn reply(&self, reply: &RecordedReply, text: &mut String) {
        text.push_str("\n[[replies]]\n");
        if let Some(user) = reply.user.as_ref().filter(|_| reply.thread != self.root) {
            let when = json!({ "user": user });
            let _ = writeln!(text, "when = {}", toml_text::value(&when));
        }
        let mut steps: Vec<Value> = reply.items.iter().filter_map(steps::step).collect();
        match &reply.end {
            ReplyEnd::Completed => {}
            ReplyEnd::Open => steps.extend([json!({ "unfinished": "…" }), json!("stall")]),
            ReplyEnd::Failed(error) => match faults::fault(error) {
                Fault::Step(step) => steps.push(step),
                // A refusal has no steps.
                Fault::Refusal(refusal) if steps.is_empty() => {
                    let _ = writeln!(text, "refuse = {}", toml_text::value(&refusal));
                    return;
                }
                Fault::Refusal(refusal) => steps.push(
                    json!({ "fail": { "code": "server_error", "message": refusal["error"]["message"] } }),
                ),
            },
        }
        if steps.is_empty() {
            steps.push(json!({ "message": "" }));
        }
        if let Some(usage) = &reply.usage {
            let _ = writeln!(text, "usage = {}", toml_text::value(usage));
        }
        text.push_str("steps = [\n");
        for step in &steps {
            let _ = writeln!(text, "  {},", toml_text::value(step));
        }
        text.push_str("]\n");
    }
}

/// Collects a session from its events.
struct SessionReader<'r> {
    recording: &'r Recording,
    /// The replies that have not ended, by the id of the request.
    open: BTreeMap<String, usize>,
    unreadable: u64,
    session: RecordedSession,
}

impl SessionReader<'_> {
    fn event(&mut self, event: &Event, thread: Option<&ThreadId>, turn: Option<&TurnId>) {
        match event {
            Event::ThreadStarted {
                thread_id,
                metadata_payload: Some(metadata),
                ..
            } if *thread_id == self.session.root => {
                let metadata = self.json(metadata);
                self.settings(&metadata);
            }
            Event::InferenceStarted {
                inference_call_id: id,
                request_payload,
                ..
            } => self.started(id.as_str(), request_payload, thread, turn),
            Event::CompactionRequestStarted {
                compaction_request_id: id,
                request_payload,
                ..
            } => self.started(id.as_str(), request_payload, thread, turn),
            Event::InferenceCompleted {
                inference_call_id: id,
                response_payload,
                ..
            } => self.ended(id.as_str(), Some(response_payload), ReplyEnd::Completed),
            Event::CompactionRequestCompleted {
                compaction_request_id: id,
                response_payload,
                ..
            } => self.ended(id.as_str(), Some(response_payload), ReplyEnd::Completed),
            Event::InferenceFailed {
                inference_call_id: id,
                error,
                partial_response_payload,
                ..
            } => {
                let end = ReplyEnd::Failed(error.clone());
                self.ended(id.as_str(), partial_response_payload.as_ref(), end);
            }
            Event::CompactionRequestFailed {
                compaction_request_id: id,
                error,
                ..
            } => self.ended(id.as_str(), None, ReplyEnd::Failed(error.clone())),
            Event::InferenceCancelled {
                inference_call_id: id,
                partial_response_payload,
                ..
            } => self.ended(
                id.as_str(),
                partial_response_payload.as_ref(),
                ReplyEnd::Open,
            ),
            _ => {}
        }
    }

    fn json(&mut self, payload: &PayloadRef) -> Value {
        let read = self.recording.json(payload);
        self.unreadable += u64::from(read.is_err());
        read.unwrap_or_default()
    }

    fn settings(&mut self, metadata: &Value) {
        let settings = &mut self.session.settings;
        for name in ["model", "approval_policy"] {
            if metadata[name].is_string() {
                settings.insert(name, metadata[name].clone());
            }
        }
        // The metadata has the policy as a text that begins with its name.
        let policy = metadata["sandbox_policy"].as_str().unwrap_or_default();
        let names = [
            ("DangerFullAccess", "danger-full-access"),
            ("ReadOnly", "read-only"),
            ("WorkspaceWrite", "workspace-write"),
        ];
        if let Some((_, mode)) = names.iter().find(|(name, _)| policy.starts_with(name)) {
            settings.insert("sandbox_mode", json!(mode));
        }
    }

    fn started(
        &mut self,
        id: &str,
        request: &PayloadRef,
        thread: Option<&ThreadId>,
        turn: Option<&TurnId>,
    ) {
        let (Some(thread), Some(turn)) = (thread, turn) else {
            return;
        };
        let request = self.json(request);
        self.open.insert(id.to_owned(), self.session.replies.len());
        self.session.replies.push(RecordedReply {
            thread: thread.clone(),
            turn: turn.clone(),
            user: last_user_message(&request["input"]),
            items: Vec::new(),
            usage: None,
            end: ReplyEnd::Open,
        });
    }

    fn ended(&mut self, id: &str, response: Option<&PayloadRef>, end: ReplyEnd) {
        let response = response.map(|response| self.json(response));
        let index = self.open.remove(id);
        let Some(reply) = index.and_then(|index| self.session.replies.get_mut(index)) else {
            return;
        };
        reply.end = end;
        if let Some(response) = response {
            reply.items = response["output_items"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            reply.usage = usage(&response["token_usage"]);
        }
    }
}

/// What the person said last. Messages that the engine adds in the role of the user begin with a tag or a heading.
fn last_user_message(input: &Value) -> Option<String> {
    let items = input.as_array()?;
    let of_user = items.iter().rev().filter(|item| item["role"] == "user");
    of_user
        .filter_map(|item| steps::texts(&item["content"], ""))
        .find(|text| !text.starts_with('<') && !text.starts_with("# AGENTS.md"))
}

fn usage(recorded: &Value) -> Option<Value> {
    let names = [
        ("input", "input_tokens"),
        ("cached", "cached_input_tokens"),
        ("output", "output_tokens"),
        ("reasoning", "reasoning_output_tokens"),
    ];
    recorded.is_object().then(|| {
        let members = names.map(|(name, recorded_name)| {
            (
                name.to_owned(),
                json!(recorded[recorded_name].as_i64().unwrap_or_default()),
            )
        });
        Value::Object(members.into_iter().collect())
    })
}
