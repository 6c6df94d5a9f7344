//! References from events to payload files.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Checksum, PAYLOADS_DIR};
use crate::ids::PayloadId;

/// The place and kind of a payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadRef {
    pub raw_payload_id: PayloadId,
    #[serde(with = "tagged")]
    pub kind: PayloadKind,
    /// Relative to the bundle; empty in schema 3, where payloads are in shards.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Where it is in schema 3.
    #[serde(default, skip_serializing_if = "ShardPlace::is_none")]
    pub shard: ShardPlace,
    /// What of the payload was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<PayloadCapture>,
    /// What the payload is put together from: between the parts come the strings that its shard has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PayloadRef>,
    /// The checksum of the file, if the log has them; `state.json` has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xxh3: Option<Checksum>,
}

impl PayloadRef {
    /// The reference to the payload file with this number.
    pub(crate) fn numbered(number: u64, kind: PayloadKind) -> Self {
        Self {
            raw_payload_id: format!("raw_payload:{number}").into(),
            kind,
            path: format!("{PAYLOADS_DIR}/{number}.json"),
            shard: ShardPlace::File,
            parts: Vec::new(),
            capture: None,
            xxh3: None,
        }
    }

    /// The file of the bundle that contains the payload; none if it was not recorded.
    #[must_use]
    pub fn file(&self) -> Option<Cow<'_, str>> {
        match self.shard {
            ShardPlace::File => Some(Cow::Borrowed(&self.path)),
            ShardPlace::Omitted => None,
            ShardPlace::Shard(number) => Some(Cow::Owned(shard_path(number))),
        }
    }

    /// Whether the payload itself was left out or cut.
    #[must_use]
    pub fn is_unrecorded(&self) -> bool {
        self.shard == ShardPlace::Omitted || self.capture.is_some()
    }

    /// Whether the payload, or a part of it, was left out or cut because of a limit.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.is_unrecorded() || self.parts.iter().any(Self::is_partial)
    }

    /// Calls `each` with the parts and then with the payload.
    pub fn visit<'p>(&'p self, each: &mut dyn FnMut(&'p Self)) {
        for part in &self.parts {
            part.visit(each);
        }
        each(self);
    }
}

/// The path of a shard in its bundle.
pub(crate) fn shard_path(number: u64) -> String {
    format!("{PAYLOADS_DIR}/{number:06}.zst")
}

/// Where a payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShardPlace {
    /// In a file of its own.
    #[default]
    File,
    /// Nowhere, because of a limit.
    Omitted,
    /// In the shard with this number.
    Shard(u64),
}

impl ShardPlace {
    fn is_none(&self) -> bool {
        *self == Self::File
    }
}

impl Serialize for ShardPlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Shard(number) => serializer.serialize_some(number),
            Self::File | Self::Omitted => serializer.serialize_none(),
        }
    }
}

impl<'de> Deserialize<'de> for ShardPlace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Option::<u64>::deserialize(deserializer)?;
        Ok(number.map_or(Self::Omitted, Self::Shard))
    }
}

/// How much of a payload was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadCapture {
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retained_bytes: Option<u64>,
}

/// What a payload file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PayloadKind {
    InferenceRequest,
    InferenceResponse,
    CompactionRequest,
    CompactionCheckpoint,
    CompactionResponse,
    ToolInvocation,
    ToolResult,
    ToolRuntimeEvent,
    TerminalRuntimeEvent,
    ProtocolEvent,
    SessionMetadata,
    AgentResult,
    /// The whole prompt of a request, put together from items; schema 3.
    PreparedPrompt,
    /// An item of a prompt; schema 3.
    ModelItem,
    /// A long value that several payloads contain; schema 3.
    ContentValue,
    /// What a connection was told before the first request; schema 3.
    WarmupContext,
}

/// A kind is an object of its own: `{"type": "protocol_event"}`.
mod tagged {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::PayloadKind;

    #[derive(Serialize, Deserialize)]
    struct Tagged {
        r#type: PayloadKind,
    }

    pub(super) fn serialize<S: Serializer>(
        kind: &PayloadKind,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Tagged { r#type: *kind }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PayloadKind, D::Error> {
        Tagged::deserialize(deserializer).map(|tagged| tagged.r#type)
    }
}
