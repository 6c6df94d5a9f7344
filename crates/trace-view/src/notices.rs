//! What the log says beside the graph: questions to the user and their answers, interrupts, hooks, warnings and errors.

use std::collections::HashMap;
use std::path::Path;

use codex_rollout_trace::Recording;
use codex_rollout_trace::format::Event;
use codex_rollout_trace::ids::TurnId;
use serde::Serialize;
use serde_json::Value;

/// At most this many are shown on a page.
const MOST_ON_PAGE: usize = 2000;
/// The longest text of one.
const LENGTH: usize = 400;

/// The events of questions, each with the member that says what is asked.
const QUESTIONS: [(&str, &str); 5] = [
    ("exec_approval_request", "command"),
    ("apply_patch_approval_request", "changes"),
    ("request_permissions", "reason"),
    ("request_user_input", "questions"),
    ("elicitation_request", "message"),
];

/// Something that happened beside the graph.
#[derive(Debug, Serialize)]
pub(crate) struct Notice {
    pub(crate) kind: String,
    pub(crate) at: i64,
    /// The turn in which it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<String>,
    /// The call that a question is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) call: Option<String>,
    pub(crate) text: String,
    /// The answer of the user, for a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<String>,
    /// How long the question waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waited: Option<i64>,
}

/// Events that are shown and are no questions.
const SHOWN_KINDS: [&str; 5] = [
    "session_input",
    "error",
    "warning",
    "hook_completed",
    "prompt_prefix_broken",
];

/// The notices of a bundle, in the order of its log. What cannot be read is left out.
pub(crate) fn notices(bundle: &Path) -> Notices {
    let mut notices = Notices::of_page();
    let Ok(recording) = Recording::read(bundle) else {
        return notices;
    };
    for line in recording.events() {
        if let Event::ProtocolEventObserved {
            event_type,
            event_payload,
        } = &line.payload
            && notices.wants(event_type)
            && let Ok(payload) = recording.json(event_payload)
        {
            let turn = line.codex_turn_id.as_ref();
            notices.add(line.wall_time_unix_ms, turn, event_type, &payload);
        }
    }
    notices
}

/// The notices so far.
#[derive(Debug)]
pub(crate) struct Notices {
    pub(crate) list: Vec<Notice>,
    /// How many hooks ran and changed nothing.
    pub(crate) quiet_hooks: usize,
    /// The questions that wait, by their ids.
    waiting: HashMap<String, usize>,
    /// The most that are listed.
    limit: usize,
}

impl Notices {
    /// As many as a page shows.
    pub(crate) fn of_page() -> Self {
        Self {
            limit: MOST_ON_PAGE,
            ..Self::all()
        }
    }

    /// All that there are.
    pub(crate) fn all() -> Self {
        Self {
            list: Vec::new(),
            quiet_hooks: 0,
            waiting: HashMap::new(),
            limit: usize::MAX,
        }
    }

    /// Whether an event of this type can be one, or the answer to one.
    pub(crate) fn wants(&self, event_type: &str) -> bool {
        if self.is_full() {
            return event_type == "session_input" && !self.waiting.is_empty();
        }
        let is_question = QUESTIONS.iter().any(|(kind, _)| *kind == event_type);
        is_question || SHOWN_KINDS.contains(&event_type)
    }

    fn is_full(&self) -> bool {
        self.list.len() >= self.limit
    }

    /// Adds an event. Returns the place of the notice that is new or changed.
    pub(crate) fn add(
        &mut self,
        at: i64,
        turn: Option<&TurnId>,
        kind: &str,
        payload: &Value,
    ) -> Option<usize> {
        let named_turn = payload["turn_id"].as_str();
        let is_full = self.is_full();
        let mut notice = |kind: &str, text: &Value| {
            if is_full {
                return None;
            }
            self.list.push(Notice {
                kind: kind.replace('_', " "),
                at,
                turn: turn.map(TurnId::as_str).or(named_turn).map(str::to_owned),
                call: payload["call_id"].as_str().map(str::to_owned),
                text: shown(text),
                answer: None,
                waited: None,
            });
            Some(self.list.len() - 1)
        };
        if let Some((_, member)) = QUESTIONS.iter().find(|(question, _)| *question == kind) {
            let place = notice(kind, &payload[*member]);
            let id = payload["approval_id"]
                .as_str()
                .or_else(|| payload["call_id"].as_str());
            if let (Some(id), Some(place)) = (id, place) {
                self.waiting.insert(id.to_owned(), place);
            }
            return place;
        }
        match kind {
            "session_input" => {
                let operation = &payload["input"]["submission"]["op"];
                let steer = &payload["input"]["steer"];
                if operation["type"] == "interrupt" {
                    return notice("interrupt", &Value::Null);
                }
                if steer.is_object() {
                    return notice("more input", &steer["items"]);
                }
                let place = self.waiting.remove(operation["id"].as_str()?)?;
                let asked = &mut self.list[place];
                let answer = [&operation["decision"], &operation["response"]];
                let mut answer = answer.into_iter();
                asked.answer = answer.find(|answer| !answer.is_null()).map(shown);
                asked.waited = Some(at - asked.at);
                Some(place)
            }
            "hook_completed" => {
                let Some(effect) = hook_effect(&payload["run"]) else {
                    self.quiet_hooks += 1;
                    return None;
                };
                notice("hook", &Value::String(effect))
            }
            kind => notice(kind, &payload["message"]),
        }
    }
}

/// What a hook did; nothing of one that only ran.
fn hook_effect(run: &Value) -> Option<String> {
    let status = run["status"].as_str().unwrap_or("running");
    let entries = run["entries"].as_array().into_iter().flatten();
    let said: Vec<&str> = entries.filter_map(|entry| entry["text"].as_str()).collect();
    let is_quiet = ["completed", "running"].contains(&status) && said.is_empty();
    let name = run["event_name"].as_str().unwrap_or("hook");
    (!is_quiet).then(|| match said.join("; ") {
        said if said.is_empty() => format!("{name}: {status}"),
        said => format!("{name}: {status}: {said}"),
    })
}

fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(words) if words.iter().all(Value::is_string) => {
            let words = words.iter().filter_map(Value::as_str);
            words.collect::<Vec<_>>().join(" ")
        }
        Value::Object(members) => members.keys().cloned().collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    text[..text.floor_char_boundary(LENGTH)].to_owned()
}
