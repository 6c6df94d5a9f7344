//! Free text, and the markers that stand in its place.
//!
//! A marker has as many characters as its text and a number that is the same for the same text, so that one can still
//! see how long things were and which were the same. Which strings are text is decided by their keys: in the log a few
//! are, in a payload all but a few.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The log and the manifest.
    Log,
    Payload,
}

/// What the log says in words.
const LOG_TEXT: [&str; 10] = [
    "error",
    "reason",
    "message",
    "source_js",
    "input_preview",
    "output_preview",
    "message_preview",
    "summary",
    "metadata",
    "task_name",
];

/// What the reducer and a reader need of a payload to see its shape.
const PAYLOAD_SHAPE: [&str; 29] = [
    "type",
    "id",
    "role",
    "kind",
    "status",
    "phase",
    "channel",
    "model",
    "name",
    "namespace",
    "tool_name",
    "tool_namespace",
    "provider_name",
    "agent_path",
    "child_agent_path",
    "author",
    "recipient",
    "target",
    "task_name",
    "session_source",
    "source",
    "effort",
    "reasoning_effort",
    "approval_policy",
    "sandbox_policy",
    "agent_role",
    "tool_choice",
    "include",
    "receiver_thread_ids",
];

/// A name or an id has no more characters.
const LONGEST_NAME: usize = 100;

impl Place {
    /// Whether a string under this key is free text. A kept one must look like a name: tools choose keys as they like.
    pub(super) fn is_text(self, key: &str, string: &str) -> bool {
        match self {
            Self::Log => LOG_TEXT.contains(&key),
            Self::Payload => {
                let is_shape = PAYLOAD_SHAPE.contains(&key) || key.ends_with("_id");
                !is_shape || !is_name(string)
            }
        }
    }
}

/// Whether a string is one word, as names and ids are.
fn is_name(string: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_-.:/".contains(char);
    string.len() <= LONGEST_NAME && string.chars().all(is_plain)
}

/// The markers given so far. Texts themselves are not kept.
#[derive(Debug, Default)]
pub(super) struct Markers {
    numbers: HashMap<u128, usize>,
}

impl Markers {
    pub(super) fn mark(&mut self, text: &str) -> String {
        let next = self.numbers.len() + 1;
        let number = *self
            .numbers
            .entry(xxh3_128(text.as_bytes()))
            .or_insert(next);
        let length = text.chars().count();
        let label = format!("[text {number}]");
        if label.len() <= length {
            let rest = length - label.len();
            return label + &"x".repeat(rest);
        }
        "x".repeat(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_as_long_as_its_text_and_the_same_for_the_same() {
        let mut markers = Markers::default();
        for text in ["", "short", "a rather long text", "ünïcödé ünïcödé"] {
            let marker = markers.mark(text);
            assert_eq!(marker.chars().count(), text.chars().count());
            assert_eq!(markers.mark(text), marker);
        }
        assert_ne!(
            markers.mark("one long text here"),
            markers.mark("two long texts here")
        );
    }
}
