//! Where logins are stored, and settings of voice conversations.

use codex_protocol::RealtimeConversationVersion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the login is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CredentialsStore {
    /// In a file in the home folder.
    #[default]
    File,
    /// In the keyring of the system.
    Keyring,
    /// In the keyring if there is one, otherwise in the file.
    Auto,
    /// In memory: the login ends with the process.
    Ephemeral,
}

/// Where logins of MCP servers are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpCredentialsStore {
    /// In the keyring if there is one, otherwise in the file.
    #[default]
    Auto,
    /// In a file in the home folder.
    File,
    /// In the keyring of the system.
    Keyring,
}

/// `[realtime]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RealtimeFile {
    /// The protocol version of the service.
    pub version: Option<RealtimeConversationVersion>,
    /// The kind of conversation.
    #[serde(rename = "type")]
    pub kind: Option<RealtimeKind>,
}

/// The kind of a voice conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RealtimeKind {
    /// The model answers.
    #[default]
    Conversational,
    /// Speech is transcribed.
    Transcription,
}

/// `[audio]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AudioFile {
    /// The input device.
    pub microphone: Option<String>,
    /// The output device.
    pub speaker: Option<String>,
}
