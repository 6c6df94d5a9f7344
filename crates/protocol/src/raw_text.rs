//! Long texts that are passed from the rollout to clients without change.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::reason;

/// A text. One that was parsed from JSON is kept in its escaped form and written back the same way: command output has many
/// line breaks, and unescaping and escaping would be most of the work of showing a thread.
#[derive(Clone)]
pub struct RawText(RawTextForm);

#[derive(Clone)]
enum RawTextForm {
    Plain(String),
    /// With quotes. Contains no `\u` escapes, some of which are invalid.
    Json(Box<RawValue>),
}

impl RawText {
    pub(crate) fn of_json(json: Box<RawValue>) -> serde_json::Result<Self> {
        let passes = json.get().starts_with('"') && !json.get().contains("\\u");
        Ok(Self(if passes {
            RawTextForm::Json(json)
        } else {
            RawTextForm::Plain(serde_json::from_str(json.get())?)
        }))
    }

    /// The unescaped text.
    pub fn as_str(&self) -> Cow<'_, str> {
        match &self.0 {
            RawTextForm::Plain(text) => Cow::Borrowed(text),
            RawTextForm::Json(json) => {
                Cow::Owned(serde_json::from_str(json.get()).unwrap_or_default())
            }
        }
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            RawTextForm::Plain(text) => text.is_empty(),
            RawTextForm::Json(json) => json.get() == "\"\"",
        }
    }

    /// The length in bytes; an upper bound if there are escapes.
    pub fn size(&self) -> usize {
        match &self.0 {
            RawTextForm::Plain(text) => text.len(),
            RawTextForm::Json(json) => json.get().len() - 2,
        }
    }
}

impl Default for RawText {
    fn default() -> Self {
        Self::from(String::new())
    }
}

impl From<String> for RawText {
    fn from(text: String) -> Self {
        Self(RawTextForm::Plain(text))
    }
}

impl From<&str> for RawText {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl PartialEq for RawText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawText {}

impl fmt::Debug for RawText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(formatter)
    }
}

impl Serialize for RawText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            RawTextForm::Plain(text) => text.serialize(serializer),
            RawTextForm::Json(json) => json.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RawText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        Self::of_json(json).map_err(|error| D::Error::custom(reason(&error)))
    }
}

impl JsonSchema for RawText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_read_or_made() {
        for json in [r#""""#, r#""a\nb\t\"c\\""#, r#""\u00e9\ud83d\ude00""#] {
            let text: String = serde_json::from_str(json).unwrap();
            let read: RawText = serde_json::from_str(json).unwrap();
            assert_eq!(read.as_str(), text);
            assert_eq!(read, RawText::from(text.clone()));
            assert_eq!(read.is_empty(), text.is_empty());
            let written = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
            let value = serde_json::to_value(&read).unwrap();
            assert_eq!(serde_json::from_value::<RawText>(value).unwrap(), read);
        }
    }

    #[test]
    fn raw_text_refuses_other_values() {
        for json in ["1", "null", "[\"a\"]", r#""\ud800""#, "\"a\nb\""] {
            assert!(serde_json::from_str::<RawText>(json).is_err(), "{json}");
        }
        let error = serde_json::from_str::<RawText>("1")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("invalid type: integer `1`, expected a string"),
            "{error}"
        );
    }
}
