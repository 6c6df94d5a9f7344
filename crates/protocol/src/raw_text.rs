//! Long texts that are mostly passed on: from the log of a thread to whoever reads it.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use schemars::Schema;
use schemars::SchemaGenerator;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;
use serde::de::Error;
use serde_json::value::RawValue;

use crate::json::reason;

/// A text. One that was read from JSON stays as it stands there, and is written back that way: output
/// of commands has a line break in every other word, and undoing and redoing its escapes would be most
/// of the work of showing a thread.
#[derive(Clone)]
pub struct RawText(Form);

#[derive(Clone)]
enum Form {
    Plain(String),
    /// With its quotes. It has no numbered escapes, of which some stand for no character.
    Json(Box<RawValue>),
}

impl RawText {
    pub(crate) fn of_json(json: Box<RawValue>) -> serde_json::Result<Self> {
        let passes = json.get().starts_with('"') && !json.get().contains("\\u");
        Ok(Self(if passes {
            Form::Json(json)
        } else {
            Form::Plain(serde_json::from_str(json.get())?)
        }))
    }

    /// The text itself.
    pub fn as_str(&self) -> Cow<'_, str> {
        match &self.0 {
            Form::Plain(text) => Cow::Borrowed(text),
            Form::Json(json) => Cow::Owned(serde_json::from_str(json.get()).unwrap_or_default()),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Form::Plain(text) => text.is_empty(),
            Form::Json(json) => json.get() == "\"\"",
        }
    }

    /// How many bytes it has; where it has escapes, at most so many.
    pub fn size(&self) -> usize {
        match &self.0 {
            Form::Plain(text) => text.len(),
            Form::Json(json) => json.get().len() - 2,
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
        Self(Form::Plain(text))
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
            Form::Plain(text) => text.serialize(serializer),
            Form::Json(json) => json.serialize(serializer),
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
    fn what_is_no_text_is_refused() {
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
