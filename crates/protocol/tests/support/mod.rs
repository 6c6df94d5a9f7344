//! The corpus: one line for every operation, event, model item and kind of rollout line, in several
//! shapes. What it holds is made up; lines whose type begins with `a_later_` stand for what a newer
//! version may write.

#![allow(dead_code, reason = "each test uses a part")]

use std::fmt::Debug;

use codex_protocol::{JsonError, RolloutLine, from_json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) const SUBMISSIONS: &str = include_str!("../corpus/submissions.jsonl");
pub(crate) const EVENTS: &str = include_str!("../corpus/events.jsonl");
pub(crate) const RESPONSE_ITEMS: &str = include_str!("../corpus/response_items.jsonl");
pub(crate) const ROLLOUT: &str = include_str!("../corpus/rollout.jsonl");

/// Something that is read from a JSON text and written to one.
pub(crate) trait Wire: Debug + PartialEq + Serialize + Sized {
    fn from_text(text: &str) -> Result<Self, JsonError>;

    fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap()
    }
}

impl<T: Debug + PartialEq + Serialize + DeserializeOwned> Wire for T {
    fn from_text(text: &str) -> Result<Self, JsonError> {
        from_json(text)
    }
}

/// A rollout line, which has a reader of its own.
#[derive(Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct CorpusLine(pub(crate) RolloutLine);

impl<'de> serde::Deserialize<'de> for CorpusLine {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
        RolloutLine::read(text.get())
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}

pub(crate) fn values(corpus: &str) -> Vec<Value> {
    corpus
        .lines()
        .map(|line| from_json(line).unwrap())
        .collect()
}
