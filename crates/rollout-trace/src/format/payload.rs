//! References from events to payload files.

use serde::{Deserialize, Serialize};

use super::{Checksum, PAYLOADS_DIR};
use crate::ids::PayloadId;

/// The path and kind of a payload file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadRef {
    pub raw_payload_id: PayloadId,
    #[serde(with = "tagged")]
    pub kind: PayloadKind,
    /// Relative to the bundle.
    pub path: String,
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
            xxh3: None,
        }
    }
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
