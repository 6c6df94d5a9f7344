//! What the log says beside the graph: questions to the user and their answers, interrupts, hooks, warnings and errors.

use std::collections::HashMap;
use std::path::Path;

use codex_rollout_trace::Recording;
use codex_rollout_trace::format::Event;
use serde::Serialize;
use serde_json::Value;

use super::bodies::cut;

/// At most this many are shown.
const MOST: usize = 2000;
/// The longest text of one.
const LENGTH: u64 = 400;

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
pub(super) struct Notice {
    kind: String,
    at: i64,
    text: String,
    /// The answer of the user, for a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    /// How long the question waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    waited: Option<i64>,
}

/// Events that are shown and are no questions.
const SHOWN: [&str; 4] = ["session_input", "error", "warning", "hook_completed"];

/// The notices of a bundle, in the order of its log. What cannot be read is left out.
pub(super) fn notices(bundle: &Path) -> Vec<Notice> {
    let Ok(recording) = Recording::read(bundle) else {
        return Vec::new();
    };
    let mut notices = Notices::default();
    for line in recording.events() {
        if let Event::ProtocolEventObserved {
            event_type,
            event_payload,
        } = &line.payload
            && notices.wants(event_type)
            && let Ok(payload) = recording.json(event_payload)
        {
            notices.add(line.wall_time_unix_ms, event_type, &payload);
        }
    }
    notices.list
}

/// The notices so far.
#[derive(Debug, Default)]
pub(super) struct Notices {
    pub(super) list: Vec<Notice>,
    /// The questions that wait, by their ids.
    waiting: HashMap<String, usize>,
}

impl Notices {
    /// Whether an event of this type can be one.
    pub(super) fn wants(&self, event_type: &str) -> bool {
        let is_question = QUESTIONS.iter().any(|(kind, _)| *kind == event_type);
        self.list.len() < MOST && (is_question || SHOWN.contains(&event_type))
    }

    /// Adds an event. Returns the place of the notice that is new or changed.
    pub(super) fn add(&mut self, at: i64, kind: &str, payload: &Value) -> Option<usize> {
        let mut notice = |kind: &str, text: &Value| {
            self.list.push(Notice {
                kind: kind.replace('_', " "),
                at,
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
            "hook_completed" => notice("hook", &payload["run"]["event_name"]),
            kind => notice(kind, &payload["message"]),
        }
    }
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
    cut(&text, LENGTH).to_owned()
}
