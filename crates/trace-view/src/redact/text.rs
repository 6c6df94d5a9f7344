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

/// Those of them that may be JSON in turn.
const LOG_TEXT_OUTER: [&str; 6] = [
    "error",
    "reason",
    "message",
    "input_preview",
    "output_preview",
    "metadata",
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

/// Below these keys stands what a tool was called with or answered, where every name is the tool's own.
const OF_TOOLS: [&str; 5] = [
    "arguments",
    "structuredContent",
    "structured_content",
    "parameters",
    "value",
];

/// What the reducer needs of the arguments of a call.
const ARGUMENT_SHAPE: [&str; 3] = ["session_id", "cell_id", "type"];

/// Below these keys stand objects whose keys are names of files, agents and variables.
const MAPS: [&str; 8] = [
    "changes",
    "statuses",
    "agent_statuses",
    "files",
    "env",
    "environment",
    "headers",
    "metadata",
];

impl Place {
    /// Whether a string under these keys, the last of which is `key`, is free text. A kept one must look like a name:
    /// tools choose keys as they like.
    pub(super) fn is_text(self, key: &str, outer: &[String], string: &str) -> bool {
        let below = |keys: &[&str]| outer.iter().any(|outer| keys.contains(&outer.as_str()));
        match self {
            Self::Log => LOG_TEXT.contains(&key) || below(&LOG_TEXT_OUTER),
            Self::Payload => {
                let shape: &[&str] = if below(&OF_TOOLS) {
                    &ARGUMENT_SHAPE
                } else {
                    &PAYLOAD_SHAPE
                };
                let is_shape = shape.contains(&key) || !below(&OF_TOOLS) && key.ends_with("_id");
                !is_shape || !is_name(string)
            }
        }
    }

    /// Whether a key of an object that is reached by these keys is free text, such as the name of a file.
    pub(super) fn is_text_key(self, key: &str, outer: &[String]) -> bool {
        let holds_names = outer
            .last()
            .is_some_and(|outer| MAPS.contains(&outer.as_str()));
        match self {
            Self::Log => outer
                .iter()
                .any(|outer| LOG_TEXT_OUTER.contains(&outer.as_str())),
            Self::Payload => holds_names || !is_identifier(key),
        }
    }
}

/// Whether a key is one that a program would choose.
fn is_identifier(key: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_$-".contains(char);
    key.len() <= LONGEST_NAME && key.chars().all(is_plain)
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
    /// The marker of a key: with its number whatever its length, as keys of one object must differ.
    pub(super) fn mark_key(&mut self, key: &str) -> String {
        format!("[text {}]", self.number(key))
    }

    fn number(&mut self, text: &str) -> usize {
        let next = self.numbers.len() + 1;
        *self
            .numbers
            .entry(xxh3_128(text.as_bytes()))
            .or_insert(next)
    }

    pub(super) fn mark(&mut self, text: &str) -> String {
        let number = self.number(text);
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
    fn redaction_marker_keeps_length_and_equality() {
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
