//! The output of a tool call, as the model reads it: a text, or parts that may be images.

use std::fmt;

use codex_app_server_protocol_macros::Tagged;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de::Error;
use serde::de::SeqAccess;
use serde::de::Visitor;
use serde::de::value::SeqAccessDeserializer;

use crate::response_item::ImageDetail;

/// The output of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FunctionCallOutputBody {
    /// One text.
    Text(String),
    /// Several parts.
    Content(Vec<FunctionCallOutputContentItem>),
}

/// A part of the output of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FunctionCallOutputContentItem {
    /// Text.
    InputText {
        /// The text.
        text: String,
    },
    /// An image.
    InputImage {
        /// Where the image is: a URL, often a `data:` one.
        image_url: String,
        /// In which detail the model should look at it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<ImageDetail>,
    },
}

// Written out, because serde's own reader of such enums buffers and loses the path of an error.
impl<'de> Deserialize<'de> for FunctionCallOutputBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BodyVisitor)
    }
}

struct BodyVisitor;

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = FunctionCallOutputBody;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string or an array of parts")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(FunctionCallOutputBody::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(FunctionCallOutputBody::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(parts)).map(FunctionCallOutputBody::Content)
    }
}
