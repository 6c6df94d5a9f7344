//! The first version of the protocol.

use codex_protocol::{RealtimeAudioFrame, RealtimeEvent, RealtimeHandoffRequested};
use serde_json::{Value, json};

use crate::dialect::{
    Dialect, SAMPLE_RATE, SpokenTranscript, Taken, result_text, role_name, session_updated, text,
};
use crate::input::{AgentResult, TextRole};

const DEFAULT_VOICE: &str = "fathom";

#[derive(Debug, Default)]
pub(crate) struct FirstDialect {
    voice: Option<String>,
    transcript: SpokenTranscript,
}

impl Dialect for FirstDialect {
    fn start(&self, instructions: &str) -> Value {
        json!({"type": "session.update", "session": {
            "type": "quicksilver",
            "instructions": instructions,
            "audio": {
                "input": {"format": {"type": "audio/pcm", "rate": SAMPLE_RATE}},
                "output": {"voice": self.voice.as_deref().unwrap_or(DEFAULT_VOICE)},
            },
        }})
    }

    fn text(&mut self, role: TextRole, text: &str) -> Vec<Value> {
        vec![json!({"type": "conversation.item.create", "item": {
            "type": "message", "role": role_name(role), "content": [{"type": "text", "text": text}],
        }})]
    }

    /// Every message of the agent is sent as it comes, so the last one was sent already.
    fn result(&mut self, result: &AgentResult) -> Vec<Value> {
        if result.is_last || result.text.is_empty() {
            return Vec::new();
        }
        vec![
            json!({"type": "conversation.handoff.append", "handoff_id": result.handoff,
                    "output_text": result_text(&result.text)}),
        ]
    }

    fn take(&mut self, kind: &str, message: &Value) -> Result<Taken, String> {
        let event = match kind {
            "session.updated" => session_updated(message),
            "conversation.output_audio.delta" => audio_out(message).map(RealtimeEvent::AudioOut),
            "conversation.input_transcript.delta" => text(&message["delta"]).map(|delta| {
                self.transcript.add("user", &delta);
                RealtimeEvent::InputTranscriptDelta { delta }
            }),
            "conversation.output_transcript.delta" => text(&message["delta"]).map(|delta| {
                self.transcript.add("assistant", &delta);
                RealtimeEvent::OutputTranscriptDelta { delta }
            }),
            "conversation.item.added" => {
                let item = &message["item"];
                item.is_object()
                    .then(|| RealtimeEvent::ConversationItemAdded(item.clone()))
            }
            "conversation.item.done" => text(&message["item"]["id"])
                .map(|item_id| RealtimeEvent::ConversationItemDone { item_id }),
            "conversation.handoff.requested" => self.handoff(message),
            "error" => {
                let of_error = text(&message["error"]["message"]);
                let reason = of_error.or_else(|| text(&message["message"]));
                return Err(reason.unwrap_or_else(|| "the server reports an error".to_owned()));
            }
            _ => None,
        };
        Ok(Taken::from_events(event))
    }
}

impl FirstDialect {
    pub(crate) fn new(voice: Option<String>) -> Self {
        Self {
            voice,
            ..Self::default()
        }
    }

    fn handoff(&mut self, message: &Value) -> Option<RealtimeEvent> {
        let handoff_id = text(&message["handoff_id"])?;
        Some(RealtimeEvent::HandoffRequested(RealtimeHandoffRequested {
            handoff_id,
            item_id: text(&message["item_id"]).unwrap_or_default(),
            input_transcript: text(&message["input_transcript"]).unwrap_or_default(),
            active_transcript: self.transcript.take(),
        }))
    }
}

fn audio_out(message: &Value) -> Option<RealtimeAudioFrame> {
    let data = text(&message["delta"]).or_else(|| text(&message["data"]))?;
    let number = |name: &str| message[name].as_u64();
    let channels = number("channels").or_else(|| number("num_channels"));
    let samples = number("samples_per_channel");
    Some(RealtimeAudioFrame {
        data,
        sample_rate: number("sample_rate")
            .and_then(|rate| u32::try_from(rate).ok())
            .unwrap_or(SAMPLE_RATE),
        num_channels: channels
            .and_then(|count| u16::try_from(count).ok())
            .unwrap_or(1),
        samples_per_channel: samples.and_then(|count| u32::try_from(count).ok()),
        item_id: text(&message["item_id"]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(dialect: &mut FirstDialect, message: Value) -> Result<Vec<RealtimeEvent>, String> {
        let kind = message["type"].as_str().unwrap().to_owned();
        let taken = dialect.take(&kind, &message)?;
        assert_eq!(taken.send, Vec::<Value>::new());
        Ok(taken.events)
    }

    #[test]
    fn delegated_work_has_the_words_since_the_last_one() {
        let mut dialect = FirstDialect::default();
        let said = json!({"type": "conversation.input_transcript.delta", "delta": "run it"});
        take(&mut dialect, said).unwrap();
        let requested = json!({"type": "conversation.handoff.requested", "handoff_id": "h",
                               "item_id": "i", "input_transcript": "run it"});
        for words in [vec!["run it"], vec![]] {
            let events = take(&mut dialect, requested.clone()).unwrap();
            let [RealtimeEvent::HandoffRequested(handoff)] = &events[..] else {
                panic!("{events:?}");
            };
            let told: Vec<_> = handoff
                .active_transcript
                .iter()
                .map(|entry| &entry.text)
                .collect();
            assert_eq!(told, words);
        }
        let sent = dialect.result(&AgentResult {
            handoff: "h".to_owned(),
            text: "done".to_owned(),
            is_last: false,
        });
        assert_eq!(sent[0]["output_text"], "\"Agent Final Message\":\n\ndone");
    }

    #[test]
    fn audio_has_both_names() {
        let mut dialect = FirstDialect::default();
        for name in ["delta", "data"] {
            let message = json!({"type": "conversation.output_audio.delta", name: "AA",
                                 "sample_rate": 16000, "channels": 2});
            let events = take(&mut dialect, message).unwrap();
            let [RealtimeEvent::AudioOut(frame)] = &events[..] else {
                panic!("{events:?}");
            };
            assert_eq!((frame.sample_rate, frame.num_channels), (16000, 2));
        }
    }

    #[test]
    fn errors_end_the_conversation_and_unknown_messages_do_not() {
        let mut dialect = FirstDialect::default();
        let error = take(
            &mut dialect,
            json!({"type": "error", "error": {"message": "m"}}),
        );
        assert_eq!(error, Err("m".to_owned()));
        assert_eq!(take(&mut dialect, json!({"type": "other"})), Ok(vec![]));
    }
}
