//! `ThreadItem` as it goes over the wire: with the times of the item beside what it is.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use codex_protocol::SINCE_KEY;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::v2::ThreadItem;

/// An item, and when it began and ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TimedItem {
    /// What it is.
    #[serde(flatten)]
    pub item: ThreadItem,
    /// When it began, in Unix milliseconds; none where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<i64>,
    /// When it ended, in Unix milliseconds; none before that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at_ms: Option<i64>,
}

/// One of which no times are known.
impl From<ThreadItem> for TimedItem {
    fn from(item: ThreadItem) -> Self {
        Self {
            item,
            started_at_ms: None,
            completed_at_ms: None,
        }
    }
}

impl Deref for TimedItem {
    type Target = ThreadItem;

    fn deref(&self) -> &ThreadItem {
        &self.item
    }
}

impl DerefMut for TimedItem {
    fn deref_mut(&mut self) -> &mut ThreadItem {
        &mut self.item
    }
}

impl<'de> Deserialize<'de> for TimedItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Times {
            started_at_ms: Option<i64>,
            completed_at_ms: Option<i64>,
        }
        let json = Box::<RawValue>::deserialize(deserializer)?;
        let times: Times = serde_json::from_str(json.get()).map_err(Error::custom)?;
        Ok(Self {
            item: serde_json::from_str(json.get()).map_err(Error::custom)?,
            started_at_ms: times.started_at_ms,
            completed_at_ms: times.completed_at_ms,
        })
    }
}

/// On the wire this is the item: each kind of item has the times too.
impl JsonSchema for TimedItem {
    fn schema_name() -> Cow<'static, str> {
        ThreadItem::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ThreadItem::json_schema(generator);
        let kinds = schema
            .get_mut("oneOf")
            .and_then(|kinds| kinds.as_array_mut());
        for kind in kinds.into_iter().flatten() {
            let time = |description: &str| {
                json_schema!({
                    "description": description, "type": ["integer", "null"], "format": "int64", SINCE_KEY: "0.169",
                })
            };
            if let Some(properties) = kind["properties"].as_object_mut() {
                let began = "When it began, in Unix milliseconds; absent where that is not known.";
                let ended = "When it ended, in Unix milliseconds; absent before that.";
                properties.insert("startedAtMs".to_owned(), time(began).into());
                properties.insert("completedAtMs".to_owned(), time(ended).into());
            }
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_are_serialized_beside_the_item() {
        let item = TimedItem {
            item: ThreadItem::Plan {
                id: "1".to_owned(),
                text: "x".to_owned(),
            },
            started_at_ms: Some(7),
            completed_at_ms: None,
        };
        let json = json!({ "type": "plan", "id": "1", "text": "x", "startedAtMs": 7 });
        assert_eq!(serde_json::to_value(&item).unwrap(), json);
        assert_eq!(serde_json::from_value::<TimedItem>(json).unwrap(), item);
    }

    #[test]
    fn long_texts_are_unchanged() {
        let json = r#"{"type":"agentMessage","id":"1","text":"a\nb","phase":null,"memoryCitation":null,"completedAtMs":9}"#;
        let item: TimedItem = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&item).unwrap(), json);
    }

    #[test]
    fn every_kind_of_item_has_times() {
        let schema = SchemaGenerator::default().into_root_schema_for::<TimedItem>();
        let kinds = schema.get("oneOf").unwrap().as_array().unwrap();
        assert!(kinds.len() > 10);
        for kind in kinds {
            assert!(kind["properties"]["startedAtMs"].is_object(), "{kind}");
            assert!(kind["properties"]["completedAtMs"].is_object(), "{kind}");
        }
    }
}
