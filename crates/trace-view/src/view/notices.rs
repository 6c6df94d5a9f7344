//! What the log says beside the graph: questions to the user and their answers, interrupts, hooks, warnings and errors.

use std::collections::HashMap;
use std::path::Path;

use codex_rollout_trace::Recording;
use codex_rollout_trace::format::{Event, LogLine};
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

/// The notices of a bundle, in the order of its log. What cannot be read is left out.
pub(super) fn notices(bundle: &Path) -> Vec<Notice> {
    let Ok(recording) = Recording::read(bundle) else {
        return Vec::new();
    };
    let mut notices = Vec::new();
    // The questions that wait, by their ids.
    let mut waiting: HashMap<String, usize> = HashMap::new();
    for line in recording.events() {
        if notices.len() >= MOST {
            break;
        }
        if let Some((kind, payload)) = protocol_event(&recording, line) {
            add(
                &mut notices,
                &mut waiting,
                line.wall_time_unix_ms,
                kind,
                &payload,
            );
        }
    }
    notices
}

fn protocol_event<'l>(recording: &Recording, line: &'l LogLine) -> Option<(&'l str, Value)> {
    let Event::ProtocolEventObserved {
        event_type,
        event_payload,
    } = &line.payload
    else {
        return None;
    };
    let is_shown = ["session_input", "error", "warning", "hook_completed"];
    let is_question = QUESTIONS.iter().any(|(kind, _)| kind == event_type);
    if !is_question && !is_shown.contains(&event_type.as_str()) {
        return None;
    }
    Some((event_type, recording.json(event_payload).ok()?))
}

fn add(
    notices: &mut Vec<Notice>,
    waiting: &mut HashMap<String, usize>,
    at: i64,
    kind: &str,
    payload: &Value,
) {
    let mut notice = |kind: &str, text: &Value| {
        notices.push(Notice {
            kind: kind.replace('_', " "),
            at,
            text: shown(text),
            answer: None,
            waited: None,
        });
        notices.len() - 1
    };
    if let Some((_, member)) = QUESTIONS.iter().find(|(question, _)| *question == kind) {
        let place = notice(kind, &payload[*member]);
        let id = payload["approval_id"]
            .as_str()
            .or_else(|| payload["call_id"].as_str());
        if let Some(id) = id {
            waiting.insert(id.to_owned(), place);
        }
        return;
    }
    match kind {
        "session_input" => {
            let operation = &payload["input"]["submission"]["op"];
            let name = operation["type"].as_str().unwrap_or_default();
            if name == "interrupt" {
                notice("interrupt", &Value::Null);
            } else if payload["input"]["steer"].is_object() {
                notice("more input", &payload["input"]["steer"]["items"]);
            } else if let Some(place) = operation["id"].as_str().and_then(|id| waiting.remove(id)) {
                let asked = &mut notices[place];
                let answer = [&operation["decision"], &operation["response"]];
                asked.answer = answer
                    .into_iter()
                    .find(|answer| !answer.is_null())
                    .map(shown);
                asked.waited = Some(at - asked.at);
            }
        }
        "hook_completed" => {
            notice("hook", &payload["run"]["event_name"]);
        }
        kind => {
            notice(kind, &payload["message"]);
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
