//! The input of a turn.

use codex_app_server_protocol_macros::Tagged;
use serde::{Deserialize, Serialize};

use crate::response_item::ImageDetail;

/// One piece of user input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum UserInput {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Spans of it that the client shows in a way of its own.
        #[serde(default)]
        text_elements: Vec<TextElement>,
    },
    /// An image by URL or by id.
    Image {
        /// The URL, often a `data:` one; empty if there is an id.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        image_url: String,
        /// The id of the image, if it is a file that the provider keeps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_id: Option<String>,
        /// In which detail the model should look at it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<ImageDetail>,
    },
    /// An image in a file.
    LocalImage {
        /// The path of the file.
        path: String,
        /// In which detail the model should look at it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<ImageDetail>,
    },
    /// Sound by URL.
    Audio {
        /// The URL, often a `data:` one.
        audio_url: String,
    },
    /// Sound in a file.
    LocalAudio {
        /// The path of the file.
        path: String,
    },
    /// A skill that the user chose.
    Skill {
        /// Its name.
        name: String,
        /// The path of its `SKILL.md`.
        path: String,
    },
    /// An app or another thing that the user mentions.
    Mention {
        /// Its name.
        name: String,
        /// Its address, for example `app://` and an id.
        path: String,
    },
}

/// A span of text that stands for something else in the client, such as a pasted block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextElement {
    /// Where it is, in bytes.
    pub byte_range: ByteRange,
    /// What the client shows in its place.
    pub placeholder: Option<String>,
}

/// A range of bytes, the end not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRange {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}
