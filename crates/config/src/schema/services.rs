//! Where logins are kept, and the voice conversation.

use codex_protocol::RealtimeConversationVersion;
use serde::{Deserialize, Serialize};

/// Where the login is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialsStore {
    /// In a file of the home folder.
    #[default]
    File,
    /// In the keyring of the system.
    Keyring,
    /// In the keyring if there is one, else in the file.
    Auto,
    /// Nowhere: it ends with the process.
    Ephemeral,
}

/// Where logins of MCP servers are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpCredentialsStore {
    /// In the keyring if there is one, else in the file.
    #[default]
    Auto,
    /// In a file of the home folder.
    File,
    /// In the keyring of the system.
    Keyring,
}

/// `[realtime]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RealtimeFile {
    /// The version of the service.
    pub version: Option<RealtimeConversationVersion>,
    /// What the conversation is.
    #[serde(rename = "type")]
    pub kind: Option<RealtimeKind>,
}

/// What a voice conversation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RealtimeKind {
    /// The model answers.
    #[default]
    Conversational,
    /// What is said is written down.
    Transcription,
}

/// `[audio]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AudioFile {
    /// The device to listen with.
    pub microphone: Option<String>,
    /// The device to speak with.
    pub speaker: Option<String>,
}
