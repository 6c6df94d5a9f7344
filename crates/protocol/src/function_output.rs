//! The output of a tool call, as the model reads it: a text, or parts that may be images.

use codex_app_server_protocol_macros::Tagged;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de::Error;
use serde_json::value::RawValue;

use crate::json::reason;
use crate::json::reason_within;
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
        match json.get().as_bytes().first() {
            Some(b'"') => {
                let text = RawText::of_json(json);
                let text = text.map_err(|error| D::Error::custom(reason(&error)))?;
                Ok(Self::Text(text))
            }
            Some(b'[') => {
                let parts = serde_json::from_str(json.get());
                // Both items that have such an output have it under this name.
                let wrong = |error| D::Error::custom(reason_within("output", json.get(), &error));
                parts.map(Self::Content).map_err(wrong)
            }
            _ => {
                let problem = "invalid type: expected a string or an array of parts";
                Err(D::Error::custom(problem))
            }
        }
    }
}
