//! A scripted realtime conversation, in both versions of the protocol.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http_reply::HttpReply;
use crate::realtime_format::{RealtimeOccasion, RealtimeProtocol, RealtimeScript, RealtimeStep};
use crate::socket_server::SocketSession;
use crate::sse;

const SAMPLE_RATE: u64 = 24_000;
/// The base64 of a millisecond of sound: 24 samples of two bytes.
const MS_LENGTH: usize = 64;
/// How much sound is in one message.
const CHUNK_MS: u64 = 100;

/// One conversation.
pub(crate) struct RealtimeSocket {
    script: RealtimeScript,
    used: Vec<bool>,
    /// The base64 of the user's sound since the last reply for it.
    heard: usize,
    /// What the next response is about.
    due: Vec<Occasion>,
    /// The number of the last item.
    items: u64,
}

/// Something that the client did.
enum Occasion {
    Start,
    Text(String),
    Result(String),
    Audio,
}

impl RealtimeSocket {
    pub(crate) fn new(script: RealtimeScript) -> Self {
        Self {
            used: vec![false; script.replies.len()],
            script,
            heard: 0,
            due: Vec::new(),
            items: 0,
        }
    }

    /// The steps for an occasion.
    fn steps(&mut self, occasion: &Occasion) -> Vec<RealtimeStep> {
        let replies = self.script.replies.iter().zip(&mut self.used);
        for (reply, used) in replies {
            if *used && !reply.repeat {
                continue;
            }
            let is_met = match (&reply.when, occasion) {
                (RealtimeOccasion::Start, Occasion::Start) => true,
                (RealtimeOccasion::Text(part), Occasion::Text(text))
                | (RealtimeOccasion::Result(part), Occasion::Result(text)) => text.contains(part),
                (RealtimeOccasion::AudioMs(ms), Occasion::Audio) => {
                    usize::try_from(*ms).is_ok_and(|ms| self.heard >= ms.saturating_mul(MS_LENGTH))
                }
                _ => false,
            };
            if is_met {
                *used = true;
                if matches!(occasion, Occasion::Audio) {
                    self.heard = 0;
                }
                return reply.steps.clone();
            }
        }
        Vec::new()
    }

    /// What is sent for an occasion.
    fn reply(&mut self, occasion: &Occasion, mut reply: HttpReply) -> HttpReply {
        let steps = self.steps(occasion);
        for step in steps {
            reply = self.step(step, reply);
        }
        reply
    }

    /// What is sent for an occasion that the second version answers with a response.
    fn response(&mut self, occasions: &[Occasion]) -> HttpReply {
        let id = self.next_id("resp");
        let mut reply = event(
            HttpReply::status(200),
            json!({"type": "response.created", "response": {"id": id}}),
        );
        for occasion in occasions {
            reply = self.reply(occasion, reply);
        }
        event(
            reply,
            json!({"type": "response.done", "response": {"id": id, "output": []}}),
        )
    }

    fn spontaneous(&mut self, occasion: &Occasion) -> HttpReply {
        self.reply(occasion, HttpReply::status(200))
    }

    fn next_id(&mut self, prefix: &str) -> String {
        self.items += 1;
        format!("{prefix}_{}", self.items)
    }

    fn step(&mut self, step: RealtimeStep, reply: HttpReply) -> HttpReply {
        let is_second = self.script.version == RealtimeProtocol::V2;
        match step {
            RealtimeStep::Speech => event(
                reply,
                json!({"type": "input_audio_buffer.speech_started", "item_id": self.next_id("item")}),
            ),
            RealtimeStep::Hear(text) => self.user_words(&text, is_second, reply),
            RealtimeStep::Say(text) => self.assistant_words(&text, is_second, reply),
            RealtimeStep::AudioMs(ms) => self.sound(ms, is_second, reply),
            RealtimeStep::Delegate(text) => self.delegate(&text, is_second, reply),
            RealtimeStep::Event(fields) => event(reply, Value::Object(fields)),
            RealtimeStep::WaitMs(ms) => reply.pause(Duration::from_millis(ms)),
            RealtimeStep::Raw(text) => reply.body(text),
            RealtimeStep::Binary => reply.binary([0]),
            RealtimeStep::Fail(text) => {
                event(reply, json!({"type": "error", "error": {"message": text}}))
            }
            RealtimeStep::Cut => reply.cut(),
            RealtimeStep::Stall => reply.stall(),
        }
    }

    fn user_words(&mut self, text: &str, is_second: bool, reply: HttpReply) -> HttpReply {
        if !is_second {
            let kind = "conversation.input_transcript.delta";
            return event(reply, json!({"type": kind, "delta": text}));
        }
        let kind = "conversation.item.input_audio_transcription";
        let item = self.next_id("item");
        let delta = json!({"type": format!("{kind}.delta"), "item_id": item, "delta": text});
        let done =
            json!({"type": format!("{kind}.completed"), "item_id": item, "transcript": text});
        event(event(reply, delta), done)
    }

    fn assistant_words(&mut self, text: &str, is_second: bool, mut reply: HttpReply) -> HttpReply {
        let item = self.next_id("item");
        let message = json!({"type": "message", "id": item, "role": "assistant"});
        reply = event(
            reply,
            json!({"type": "conversation.item.added", "item": message}),
        );
        for word in text.split_inclusive(' ') {
            let delta = if is_second {
                json!({"type": "response.output_audio_transcript.delta", "item_id": item, "delta": word})
            } else {
                json!({"type": "conversation.output_transcript.delta", "delta": word})
            };
            reply = event(reply, delta);
        }
        if is_second {
            let kind = "response.output_audio_transcript.done";
            reply = event(
                reply,
                json!({"type": kind, "item_id": item, "transcript": text}),
            );
        }
        event(
            reply,
            json!({"type": "conversation.item.done", "item": message}),
        )
    }

    fn sound(&mut self, ms: u64, is_second: bool, mut reply: HttpReply) -> HttpReply {
        let item = self.next_id("item");
        let mut left = ms;
        while left > 0 {
            let now = left.min(CHUNK_MS);
            left -= now;
            let data = "A".repeat(usize::try_from(now).unwrap_or(0) * MS_LENGTH);
            reply = event(
                reply,
                if is_second {
                    json!({"type": "response.output_audio.delta", "item_id": item, "delta": data})
                } else {
                    json!({"type": "conversation.output_audio.delta", "delta": data,
                           "sample_rate": SAMPLE_RATE, "channels": 1,
                           "samples_per_channel": now * SAMPLE_RATE / 1000})
                },
            );
        }
        reply
    }

    fn delegate(&mut self, text: &str, is_second: bool, reply: HttpReply) -> HttpReply {
        let (item, call) = (self.next_id("item"), self.next_id("call"));
        let message = if is_second {
            let arguments = json!({ "prompt": text }).to_string();
            json!({"type": "conversation.item.done", "item": {
                "type": "function_call", "id": item, "call_id": call, "name": "codex",
                "arguments": arguments,
            }})
        } else {
            json!({"type": "conversation.handoff.requested", "handoff_id": call, "item_id": item,
                   "input_transcript": text})
        };
        event(reply, message)
    }

    /// Something was put into the conversation. The second version answers when a response is requested.
    fn put(&mut self, occasion: Occasion) -> HttpReply {
        if self.script.version == RealtimeProtocol::V1 {
            return self.spontaneous(&occasion);
        }
        self.due.push(occasion);
        HttpReply::status(200)
    }
}

impl SocketSession for RealtimeSocket {
    fn message(&mut self, text: &str) -> HttpReply {
        let message: Value = serde_json::from_str(text).unwrap_or_default();
        let item = &message["item"];
        match message["type"].as_str().unwrap_or_default() {
            "session.update" => {
                let instructions = &message["session"]["instructions"];
                let updated = json!({"type": "session.updated",
                                     "session": {"id": "sess_1", "instructions": instructions}});
                let reply = event(HttpReply::status(200), updated);
                self.reply(&Occasion::Start, reply)
            }
            "input_audio_buffer.append" => {
                self.heard += message["audio"].as_str().map_or(0, str::len);
                self.spontaneous(&Occasion::Audio)
            }
            "conversation.item.create" if item["type"] == "function_call_output" => {
                self.put(Occasion::Result(text_of(&item["output"])))
            }
            "conversation.item.create" => {
                self.put(Occasion::Text(text_of(&item["content"][0]["text"])))
            }
            "conversation.handoff.append" => {
                self.put(Occasion::Result(text_of(&message["output_text"])))
            }
            "response.create" => {
                let due = std::mem::take(&mut self.due);
                self.response(&due)
            }
            _ => HttpReply::status(200),
        }
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn event(reply: HttpReply, event: Value) -> HttpReply {
    reply.body(sse::frame(&event))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(version: &str) -> RealtimeSocket {
        let text = format!(
            "version = \"{version}\"\nreplies = [\n\
             {{ when = {{ text = \"fix\" }}, steps = [{{ say = \"on it\" }}, {{ delegate = \"fix it\" }}] }},\n\
             {{ when = {{ audio_ms = 20 }}, repeat = true, steps = [{{ audio_ms = 150 }}] }},\n]"
        );
        RealtimeSocket::new(toml::from_str(&text).unwrap())
    }

    fn kinds(socket: &mut RealtimeSocket, message: Value) -> Vec<String> {
        let reply = socket.message(&message.to_string());
        let events = sse::messages(&reply.bytes());
        let kind = |text: &String| {
            let event: Value = serde_json::from_str(text).ok()?;
            Some(event["type"].as_str()?.to_owned())
        };
        events.iter().filter_map(kind).collect()
    }

    fn user(text: &str) -> Value {
        json!({"type": "conversation.item.create", "item": {"type": "message", "role": "user",
               "content": [{"type": "input_text", "text": text}]}})
    }

    #[test]
    fn the_first_version_answers_at_once() {
        let mut socket = socket("v1");
        let sent = kinds(&mut socket, user("fix it"));
        assert_eq!(
            sent.last().map(String::as_str),
            Some("conversation.handoff.requested")
        );
        assert_eq!(kinds(&mut socket, user("fix it")), Vec::<String>::new());
    }

    #[test]
    fn the_second_version_answers_with_a_response() {
        let mut socket = socket("v2");
        assert_eq!(kinds(&mut socket, user("fix it")), Vec::<String>::new());
        let sent = kinds(&mut socket, json!({"type": "response.create"}));
        assert_eq!(sent[0], "response.created");
        assert_eq!(sent[sent.len() - 1], "response.done");
        assert_eq!(sent.len(), 8, "{sent:?}");
    }

    #[test]
    fn sound_is_counted() {
        let mut socket = socket("v2");
        let sound =
            json!({"type": "input_audio_buffer.append", "audio": "A".repeat(10 * MS_LENGTH)});
        for _ in 0..2 {
            assert_eq!(kinds(&mut socket, sound.clone()).len(), 0);
            assert_eq!(kinds(&mut socket, sound.clone()).len(), 2);
        }
    }
}
