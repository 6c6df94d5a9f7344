//! The output of a tool call, as the model reads it: a text, or parts that may be images.

use codex_app_server_protocol_macros::Tagged;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::json::{reason, reason_within, wrong_within};
use crate::raw_text::RawText;
use crate::response_item::ImageDetail;

/// The output of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FunctionCallOutputBody {
    /// One text.
    Text(RawText),
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

impl<'de> Deserialize<'de> for FunctionCallOutputBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        // Both items that have such an output have it under this name.
        let wrong = match json.get().as_bytes().first() {
            Some(b'"') => match RawText::of_json(json) {
                Ok(text) => return Ok(Self::Text(text)),
                Err(error) => wrong_within("output", &reason(&error)),
            },
            Some(b'[') => match serde_json::from_str(json.get()) {
                Ok(parts) => return Ok(Self::Content(parts)),
                Err(error) => reason_within("output", json.get(), &error),
            },
            _ => wrong_within(
                "output",
                "invalid type: expected a string or an array of parts",
            ),
        };
        Err(D::Error::custom(wrong))
    }
}
