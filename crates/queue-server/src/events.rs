//! The events of the engine as clients of the queue protocol get them.

use codex_protocol::{ErrorEvent, Event, EventMsg, TurnAbortReason};
use serde::Serialize;

/// The message of the error before the end of an interrupted task.
const INTERRUPTED_MESSAGE: &str = "interrupted";

/// The end of a response. It is never stored: in files its type stands for the end of a task.
#[derive(Serialize)]
struct TurnCompleteLine<'a> {
    id: &'a str,
    msg: TurnComplete<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "turn_complete")]
struct TurnComplete<'a> {
    turn_id: &'a str,
    response_id: &'a str,
}

/// Writes an event as lines of JSON. An interrupted task has an error before its end. A delta is followed by
/// its older form.
pub(crate) fn write_event(text: &mut Vec<u8>, event: &Event) -> serde_json::Result<()> {
    match &event.msg {
        EventMsg::ResponseCompleted(ended) => {
            let msg = TurnComplete {
                turn_id: &ended.turn_id,
                response_id: &ended.response_id,
            };
            return write_line(text, &TurnCompleteLine { id: &event.id, msg });
        }
        EventMsg::TurnAborted(aborted) if aborted.reason == TurnAbortReason::Interrupted => {
            let interrupted = Event {
                id: event.id.clone(),
                msg: EventMsg::Error(ErrorEvent {
                    message: INTERRUPTED_MESSAGE.to_owned(),
                    codex_error_info: None,
                    exceeded_limit: None,
                }),
            };
            write_line(text, &interrupted)?;
        }
        _ => {}
    }
    write_line(text, event)?;
    match codex_core::older_delta(event) {
        Some(older) => write_line(text, &older),
        None => Ok(()),
    }
}

fn write_line(text: &mut Vec<u8>, line: &impl Serialize) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *text, line)?;
    text.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// The types of the messages that an event is written as.
    fn types(event: Value) -> Vec<String> {
        let event: Event = serde_json::from_value(event).unwrap();
        let mut text = Vec::new();
        write_event(&mut text, &event).unwrap();
        let lines = std::str::from_utf8(&text).unwrap().lines();
        let messages = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        messages
            .map(|message| {
                assert_eq!(message["id"], "1");
                message["msg"]["type"].as_str().unwrap().to_owned()
            })
            .collect()
    }

    #[test]
    fn interrupted_task_has_an_error_before_its_end() {
        let aborted = serde_json::json!({
            "id": "1", "msg": { "type": "turn_aborted", "turn_id": "1", "reason": "interrupted" }
        });
        assert_eq!(types(aborted), ["error", "turn_aborted"]);
        let replaced = serde_json::json!({
            "id": "1", "msg": { "type": "turn_aborted", "turn_id": "1", "reason": "replaced" }
        });
        assert_eq!(types(replaced), ["turn_aborted"]);
    }
}
