//! What a user can put into a turn: the parts of an input, and the marks inside its text.

use codex_app_server_protocol_macros::{Experimental, Tagged};
use codex_protocol::{ImageDetail, mark_members, require_member};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

/// Clients of the first release always have a URL, and get one.
fn require_url(schema: &mut Schema) {
    require_member(schema, "url");
}

/// One part of a user's input.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema, Experimental)]
#[serde(tag = "type", rename_all = "camelCase")]
#[schemars(transform = require_url)]
#[schemars(transform = mark_members::<Self>)]
pub enum UserInput {
    /// Text written by the user.
    Text {
        /// The text, which may name skills as `$name` and apps or plugins by their tokens.
        text: String,
        /// Spans of the text that a client shows in a special way; the model does not see them.
        #[serde(default)]
        #[schemars(extend("x-left-out-by-clients" = true))]
        text_elements: Vec<TextElement>,
    },
    /// An image that the model provider can fetch or decode.
    Image {
        /// Web address or data URL of the image; absent or empty if there is a `fileId`.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        url: String,
        /// Id of the image, if it is a file that the model provider keeps.
        #[serde(rename = "fileId", default, skip_serializing_if = "Option::is_none")]
        #[since("0.169")]
        file_id: Option<String>,
        /// In which detail the model should look at it; absent leaves that to the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.140")]
        detail: Option<ImageDetail>,
    },
    /// An image file on the server's machine, read when the message is sent to the model.
    LocalImage {
        /// Path of the image file.
        path: String,
        /// In which detail the model should look at it; absent leaves that to the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.140")]
        detail: Option<ImageDetail>,
    },
    /// Sound. Models that cannot hear are told that it is left out.
    #[since("0.169")]
    Audio {
        /// Web address or data URL of the sound.
        url: String,
    },
    /// A sound file on the server's machine, as `audio`.
    #[since("0.169")]
    LocalAudio {
        /// Path of the sound file.
        path: String,
    },
    /// A skill to load, without leaving the model to look for it.
    Skill {
        /// Name of the skill, as in the text's `$name`.
        name: String,
        /// Path of the skill's `SKILL.md`.
        path: String,
    },
    /// An app or plugin that the text refers to.
    Mention {
        /// Name shown to the user.
        name: String,
        /// `app://<connector id>` or `plugin://<plugin>@<marketplace>`.
        path: String,
    },
}

/// A span of an input text that the client draws as one unit, such as a mention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextElement {
    /// Where the span lies in the text.
    pub byte_range: ByteRange,
    /// What to show in place of the span; null shows the text itself.
    pub placeholder: Option<String>,
}

/// A range in a text, counted in bytes of UTF-8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ByteRange {
    /// Offset of the first byte, from 0.
    pub start: u64,
    /// Offset just after the last byte.
    pub end: u64,
}
