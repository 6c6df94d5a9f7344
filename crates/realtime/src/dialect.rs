//! What both dialects have in common.
//!
//! A dialect translates messages. It is a state machine without time and connection, so that it can be tested without
//! either.

use codex_protocol::{RealtimeEvent, RealtimeTranscriptEntry};
use serde_json::{Value, json};

use crate::input::{AgentResult, TextRole};

pub(crate) const SAMPLE_RATE: u32 = 24_000;
/// The beginning of every result of delegated work.
const RESULT_PREFIX: &str = "\"Agent Final Message\":\n\n";
/// The longest transcript that goes with delegated work. The oldest words are left out.
const MAX_TRANSCRIPT_BYTES: usize = 64 * 1024;

/// What a message of the server means.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Taken {
    pub(crate) events: Vec<RealtimeEvent>,
    /// Messages to send because of it.
    pub(crate) send: Vec<Value>,
}

impl Taken {
    pub(crate) fn from_events(events: impl IntoIterator<Item = RealtimeEvent>) -> Self {
        Self {
            events: events.into_iter().collect(),
            send: Vec::new(),
        }
    }
}

/// One version of the protocol.
pub(crate) trait Dialect: Send {
    /// The first message.
    fn start(&self, instructions: &str) -> Value;

    /// A text.
    fn text(&mut self, role: TextRole, text: &str) -> Vec<Value>;

    /// A message of the agent that works on what was delegated.
    fn result(&mut self, result: &AgentResult) -> Vec<Value>;

    /// Takes a message of the server. An error ends the conversation.
    fn take(&mut self, kind: &str, message: &Value) -> Result<Taken, String>;
}

/// Sound of the user.
pub(crate) fn audio(data: &str) -> Value {
    json!({"type": "input_audio_buffer.append", "audio": data})
}

pub(crate) fn result_text(text: &str) -> String {
    format!("{RESULT_PREFIX}{text}")
}

/// The text of a member, if it is one.
pub(crate) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// The name of a role.
pub(crate) fn role_name(role: TextRole) -> &'static str {
    match role {
        TextRole::User => "user",
        TextRole::Developer => "developer",
        TextRole::Assistant => "assistant",
    }
}

/// The settings that a server reports.
pub(crate) fn session_updated(message: &Value) -> Option<RealtimeEvent> {
    let session = &message["session"];
    Some(RealtimeEvent::SessionUpdated {
        session_id: text(&session["id"])?,
        instructions: text(&session["instructions"]),
    })
}

/// The words since work was last delegated.
#[derive(Debug, Default)]
pub(crate) struct SpokenTranscript {
    entries: Vec<RealtimeTranscriptEntry>,
    bytes: usize,
}

impl SpokenTranscript {
    pub(crate) fn add(&mut self, role: &str, words: &str) {
        self.bytes += words.len();
        match self.entries.last_mut() {
            Some(last) if last.role == role => last.text.push_str(words),
            _ => self.entries.push(RealtimeTranscriptEntry {
                role: role.to_owned(),
                text: words.to_owned(),
            }),
        }
        while self.bytes > MAX_TRANSCRIPT_BYTES && !self.entries.is_empty() {
            self.bytes -= self.entries.remove(0).text.len();
        }
    }

    pub(crate) fn take(&mut self) -> Vec<RealtimeTranscriptEntry> {
        self.bytes = 0;
        std::mem::take(&mut self.entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_joins_words_and_stays_small() {
        let mut transcript = SpokenTranscript::default();
        for (role, words) in [("user", "a "), ("user", "b"), ("assistant", "c")] {
            transcript.add(role, words);
        }
        let entries = transcript.take();
        assert_eq!((entries.len(), entries[0].text.as_str()), (2, "a b"));
        for number in 0..1000 {
            let role = if number % 2 == 0 { "user" } else { "assistant" };
            transcript.add(role, &"x".repeat(1000));
        }
        let bytes: usize = transcript.take().iter().map(|entry| entry.text.len()).sum();
        assert!(bytes <= MAX_TRANSCRIPT_BYTES, "{bytes}");
    }
}
