//! The second version of the protocol.
//!
//! The server answers with one response at a time: while one is in progress, a request for the next one waits for its end.
//! When the user begins to speak, the server is told how much of its answer was played.

use std::collections::HashSet;

use codex_protocol::{RealtimeAudioFrame, RealtimeEvent, RealtimeHandoffRequested};
use serde_json::{Value, json};

use crate::dialect::{Dialect, SAMPLE_RATE, Taken, result_text, role_name, session_updated, text};
use crate::input::{AgentResult, TextRole};
use crate::settings::{RealtimeKind, RealtimeSettings};

const DEFAULT_VOICE: &str = "marin";
/// The function by which the model delegates work.
const DELEGATE: &str = "codex";
const BUSY_MESSAGE: &str = "Conversation already has an active response in progress";
/// So many delegations are remembered, to take each only once.
const MAX_HANDOFFS: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct SecondDialect {
    kind: RealtimeKind,
    voice: Option<String>,
    writes: bool,
    /// Whether a response is in progress.
    is_busy: bool,
    /// Whether another one is to be requested after it.
    is_wanted: bool,
    playing: Option<Playing>,
    handoffs: HashSet<String>,
    /// The item whose words come piece by piece.
    heard: Option<String>,
}

/// An answer that is being played.
#[derive(Debug)]
struct Playing {
    item_id: String,
    samples: u64,
}

impl SecondDialect {
    pub(crate) fn new(settings: &RealtimeSettings) -> Self {
        Self {
            kind: settings.kind,
            voice: settings.voice.clone(),
            writes: settings.writes,
            ..Self::default()
        }
    }

    /// Requests a response, now or after the one in progress.
    fn respond(&mut self) -> Option<Value> {
        if self.kind == RealtimeKind::Transcription {
            return None;
        }
        if self.is_busy {
            self.is_wanted = true;
            return None;
        }
        self.is_busy = true;
        Some(json!({"type": "response.create"}))
    }

    /// A response has ended.
    fn response_ended(&mut self) -> Vec<Value> {
        self.is_busy = false;
        if std::mem::take(&mut self.is_wanted) {
            return self.respond().into_iter().collect();
        }
        Vec::new()
    }

    fn handoff(&mut self, item: &Value) -> Option<RealtimeEvent> {
        if item["type"] != "function_call" || item["name"] != DELEGATE {
            return None;
        }
        let handoff_id = text(&item["call_id"])?;
        if self.handoffs.len() >= MAX_HANDOFFS {
            self.handoffs.clear();
        }
        if !self.handoffs.insert(handoff_id.clone()) {
            return None;
        }
        let arguments: Value = serde_json::from_str(item["arguments"].as_str().unwrap_or_default())
            .unwrap_or_default();
        Some(RealtimeEvent::HandoffRequested(RealtimeHandoffRequested {
            handoff_id,
            item_id: text(&item["id"]).unwrap_or_default(),
            input_transcript: text(&arguments["prompt"]).unwrap_or_default(),
            // The request is whole, so the words around it add nothing.
            active_transcript: Vec::new(),
        }))
    }

    fn audio(&mut self, message: &Value) -> Option<RealtimeEvent> {
        let data = text(&message["delta"])?;
        let item_id = text(&message["item_id"]);
        if let Some(item) = &item_id {
            // Two bytes per sample, four letters per three bytes.
            let samples = data.len() as u64 * 3 / 8;
            match &mut self.playing {
                Some(playing) if playing.item_id == *item => playing.samples += samples,
                playing => {
                    *playing = Some(Playing {
                        item_id: item.clone(),
                        samples,
                    });
                }
            }
        }
        Some(RealtimeEvent::AudioOut(RealtimeAudioFrame {
            data,
            sample_rate: SAMPLE_RATE,
            num_channels: 1,
            samples_per_channel: None,
            item_id,
        }))
    }

    /// The user speaks: what was not played yet will not be.
    fn speech_started(&mut self, message: &Value) -> Taken {
        let truncate = self.playing.take().map(|playing| {
            json!({"type": "conversation.item.truncate", "item_id": playing.item_id, "content_index": 0,
                   "audio_end_ms": playing.samples * 1000 / u64::from(SAMPLE_RATE)})
        });
        Taken {
            events: vec![RealtimeEvent::InputAudioSpeechStarted {
                item_id: text(&message["item_id"]),
            }],
            send: truncate.into_iter().collect(),
        }
    }

    /// Words of the user. If they came piece by piece, the pieces are reported and the whole only ends them.
    fn user_words(&mut self, message: &Value, is_whole: bool) -> Taken {
        let item = text(&message["item_id"]);
        if !is_whole {
            self.heard = item;
            let delta = text(&message["delta"]);
            return Taken::from_events(
                delta.map(|delta| RealtimeEvent::InputTranscriptDelta { delta }),
            );
        }
        let has_pieces = item.is_some() && self.heard.take() == item;
        let whole = text(&message["transcript"]);
        let piece = whole.clone().filter(|_| !has_pieces);
        Taken::from_events(
            [
                piece.map(|delta| RealtimeEvent::InputTranscriptDelta { delta }),
                whole.map(|text| RealtimeEvent::InputTranscriptDone { text }),
            ]
            .into_iter()
            .flatten(),
        )
    }

    fn ended(&mut self, message: &Value, is_cancelled: bool) -> Taken {
        let response = &message["response"];
        let response_id = text(&response["id"]);
        let items = response["output"].as_array().into_iter().flatten();
        let mut events: Vec<_> = items.filter_map(|item| self.handoff(item)).collect();
        events.push(if is_cancelled {
            RealtimeEvent::ResponseCancelled { response_id }
        } else {
            RealtimeEvent::ResponseDone { response_id }
        });
        Taken {
            events,
            send: self.response_ended(),
        }
    }

    fn error(&mut self, message: &Value) -> Result<Taken, String> {
        let reason = text(&message["error"]["message"]);
        let reason = reason.unwrap_or_else(|| "the server reports an error".to_owned());
        if !reason.starts_with(BUSY_MESSAGE) {
            return Err(reason);
        }
        (self.is_busy, self.is_wanted) = (true, true);
        Ok(Taken::default())
    }
}

impl Dialect for SecondDialect {
    fn start(&self, instructions: &str) -> Value {
        let format = json!({"type": "audio/pcm", "rate": SAMPLE_RATE});
        let session = match self.kind {
            RealtimeKind::Transcription => {
                json!({"type": "transcription", "audio": {"input": {"format": format}}})
            }
            RealtimeKind::Conversational => json!({
                "type": "realtime",
                "instructions": instructions,
                "output_modalities": [if self.writes { "text" } else { "audio" }],
                "audio": {
                    "input": {
                        "format": format,
                        "noise_reduction": {"type": "near_field"},
                        "turn_detection": {"type": "server_vad", "interrupt_response": true,
                                           "create_response": true},
                    },
                    "output": {"format": format, "voice": self.voice.as_deref().unwrap_or(DEFAULT_VOICE)},
                },
                "tools": [{
                    "type": "function",
                    "name": DELEGATE,
                    "description": "Hands work on the user's machine over to the coding agent, and \
                                    gets its final message back.",
                    "parameters": {
                        "type": "object",
                        "properties": {"prompt": {"type": "string", "description": "The whole task."}},
                        "required": ["prompt"],
                        "additionalProperties": false,
                    },
                }],
                "tool_choice": "auto",
            }),
        };
        json!({"type": "session.update", "session": session})
    }

    fn text(&mut self, role: TextRole, text: &str) -> Vec<Value> {
        let kind = match role {
            TextRole::Assistant => "output_text",
            TextRole::User | TextRole::Developer => "input_text",
        };
        let item = json!({"type": "conversation.item.create", "item": {
            "type": "message", "role": role_name(role), "content": [{"type": kind, "text": text}],
        }});
        // Only what the user says asks for an answer.
        let answer = (role == TextRole::User).then(|| self.respond()).flatten();
        std::iter::once(item).chain(answer).collect()
    }

    fn result(&mut self, result: &AgentResult) -> Vec<Value> {
        if !result.is_last {
            return Vec::new();
        }
        let item = json!({"type": "conversation.item.create", "item": {
            "type": "function_call_output", "call_id": result.handoff,
            "output": result_text(&result.text),
        }});
        std::iter::once(item).chain(self.respond()).collect()
    }

    fn take(&mut self, kind: &str, message: &Value) -> Result<Taken, String> {
        let item = &message["item"];
        let event = match kind {
            "session.updated" => session_updated(message),
            "response.output_audio.delta" => self.audio(message),
            "conversation.item.input_audio_transcription.delta" => {
                return Ok(self.user_words(message, false));
            }
            "conversation.item.input_audio_transcription.completed" => {
                return Ok(self.user_words(message, true));
            }
            "response.output_text.delta" | "response.output_audio_transcript.delta" => {
                let delta = text(&message["delta"]);
                delta.map(|delta| RealtimeEvent::OutputTranscriptDelta { delta })
            }
            "response.output_text.done" => {
                let text = text(&message["text"]);
                text.map(|text| RealtimeEvent::OutputTranscriptDone { text })
            }
            "response.output_audio_transcript.done" => {
                let text = text(&message["transcript"]);
                text.map(|text| RealtimeEvent::OutputTranscriptDone { text })
            }
            "input_audio_buffer.speech_started" => return Ok(self.speech_started(message)),
            "response.created" => {
                self.is_busy = true;
                let response_id = text(&message["response"]["id"]);
                Some(RealtimeEvent::ResponseCreated { response_id })
            }
            "response.done" => return Ok(self.ended(message, false)),
            "response.cancelled" => return Ok(self.ended(message, true)),
            "conversation.item.added" if item.is_object() => {
                Some(RealtimeEvent::ConversationItemAdded(item.clone()))
            }
            "conversation.item.done" => self.handoff(item).or_else(|| {
                text(&item["id"]).map(|item_id| RealtimeEvent::ConversationItemDone { item_id })
            }),
            "error" => return self.error(message),
            _ => None,
        };
        Ok(Taken::from_events(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(dialect: &mut SecondDialect, message: Value) -> Taken {
        let kind = message["type"].as_str().unwrap().to_owned();
        dialect.take(&kind, &message).unwrap()
    }

    fn kinds(messages: &[Value]) -> Vec<&str> {
        messages
            .iter()
            .map(|message| message["type"].as_str().unwrap())
            .collect()
    }

    const CREATE_TYPES: [&str; 2] = ["conversation.item.create", "response.create"];

    #[test]
    fn one_response_is_in_progress_at_a_time() {
        let mut dialect = SecondDialect::default();
        assert_eq!(kinds(&dialect.text(TextRole::User, "a")), CREATE_TYPES);
        for _ in 0..2 {
            assert_eq!(kinds(&dialect.text(TextRole::User, "b")), CREATE_TYPES[..1]);
        }
        let done = json!({"type": "response.done", "response": {"id": "r"}});
        assert_eq!(
            kinds(&take(&mut dialect, done.clone()).send),
            CREATE_TYPES[1..]
        );
        assert_eq!(take(&mut dialect, done).send, Vec::<Value>::new());
        let busy = json!({"type": "error", "error": {"message": format!("{BUSY_MESSAGE}: r")}});
        assert_eq!(take(&mut dialect, busy), Taken::default());
        let cancelled = json!({"type": "response.cancelled", "response": {"id": "r"}});
        assert_eq!(
            kinds(&take(&mut dialect, cancelled).send),
            CREATE_TYPES[1..]
        );
    }

    #[test]
    fn user_speech_truncates_the_played_audio() {
        let mut dialect = SecondDialect::default();
        // 100 ms of silence.
        let data = "A".repeat(2400 * 2 * 4 / 3);
        let audio = json!({"type": "response.output_audio.delta", "delta": data, "item_id": "i"});
        for _ in 0..3 {
            take(&mut dialect, audio.clone());
        }
        let speech = json!({"type": "input_audio_buffer.speech_started", "item_id": "u"});
        let sent = take(&mut dialect, speech.clone()).send;
        assert_eq!(sent[0]["type"], "conversation.item.truncate");
        assert_eq!(
            (&sent[0]["item_id"], &sent[0]["audio_end_ms"]),
            (&json!("i"), &json!(300))
        );
        assert_eq!(take(&mut dialect, speech).send, Vec::<Value>::new());
    }

    #[test]
    fn delegated_result_asks_for_response() {
        let mut dialect = SecondDialect::default();
        let call = json!({"type": "function_call", "name": "codex", "call_id": "c", "id": "i",
                          "arguments": "{\"prompt\":\"fix it\"}"});
        let done = json!({"type": "conversation.item.done", "item": call});
        let events = take(&mut dialect, done).events;
        let [RealtimeEvent::HandoffRequested(handoff)] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(handoff.input_transcript, "fix it");
        let ended = json!({"type": "response.done", "response": {"id": "r", "output": [call]}});
        assert_eq!(take(&mut dialect, ended).events.len(), 1);
        let mut result = AgentResult {
            handoff: "c".to_owned(),
            text: "done".to_owned(),
            is_last: false,
        };
        assert_eq!(dialect.result(&result), Vec::<Value>::new());
        result.is_last = true;
        assert_eq!(kinds(&dialect.result(&result)), CREATE_TYPES);
    }

    #[test]
    fn transcript_words_are_sent_once() {
        let mut dialect = SecondDialect::default();
        let kind = "conversation.item.input_audio_transcription";
        let delta = json!({"type": format!("{kind}.delta"), "item_id": "i", "delta": "a b"});
        let whole =
            json!({"type": format!("{kind}.completed"), "item_id": "i", "transcript": "a b"});
        assert_eq!(take(&mut dialect, delta).events.len(), 1);
        let done = RealtimeEvent::InputTranscriptDone {
            text: "a b".to_owned(),
        };
        assert_eq!(take(&mut dialect, whole.clone()).events, [done]);
        assert_eq!(take(&mut dialect, whole).events.len(), 2);
    }
}
