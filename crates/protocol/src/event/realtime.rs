//! Events of a realtime conversation: voice and text beside the turns of a thread.

use codex_app_server_protocol_macros::sparse;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::settings::RealtimeConversationVersion;

/// A realtime conversation started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealtimeConversationStartedEvent {
    /// The id that its server knows it by.
    pub session_id: Option<String>,
    /// The version of its protocol.
    pub version: RealtimeConversationVersion,
}

/// Something happened in a realtime conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RealtimeConversationRealtimeEvent {
    /// What.
    pub payload: RealtimeEvent,
}

/// A realtime conversation ended.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealtimeConversationClosedEvent {
    /// Why: `requested`, `transport_closed` or `error`.
    pub reason: Option<String>,
}

/// Something that happened in a realtime conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum RealtimeEvent {
    /// The server took over the settings.
    SessionUpdated {
        /// The id that the server knows the conversation by.
        session_id: String,
        /// The instructions in force.
        instructions: Option<String>,
    },
    /// The user began to speak.
    InputAudioSpeechStarted {
        /// The item that the speech becomes.
        item_id: Option<String>,
    },
    /// More of what the user says, in writing.
    InputTranscriptDelta {
        /// The text that is added.
        delta: String,
    },
    /// More of what the model says, in writing.
    OutputTranscriptDelta {
        /// The text that is added.
        delta: String,
    },
    /// More of what the model says, as sound.
    AudioOut(RealtimeAudioFrame),
    /// The model starts to answer.
    ResponseCreated {
        /// The id of the answer.
        response_id: Option<String>,
    },
    /// The model has answered.
    ResponseDone {
        /// The id of the answer.
        response_id: Option<String>,
    },
    /// The model was cut short.
    ResponseCancelled {
        /// The id of the answer.
        response_id: Option<String>,
    },
    /// Something was added to the conversation, as the server tells it.
    ConversationItemAdded(Value),
    /// Something in the conversation is complete.
    ConversationItemDone {
        /// What.
        item_id: String,
    },
    /// The model hands work over to the thread.
    HandoffRequested(RealtimeHandoffRequested),
    /// Something failed.
    Error(String),
}

/// Work that is handed over to the thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealtimeHandoffRequested {
    /// What the result is to name.
    pub handoff_id: String,
    /// The item that asks for it.
    pub item_id: String,
    /// What is asked for.
    pub input_transcript: String,
    /// What was said since the last time.
    #[serde(default)]
    pub active_transcript: Vec<RealtimeTranscriptEntry>,
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealtimeTranscriptEntry {
    /// By whom.
    pub role: String,
    /// What.
    pub text: String,
}

/// A piece of sound.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealtimeAudioFrame {
    /// The samples, in base64.
    pub data: String,
    /// Samples in a second.
    pub sample_rate: u32,
    /// Channels.
    pub num_channels: u16,
    /// Samples in each channel.
    pub samples_per_channel: Option<u32>,
    /// The item that it belongs to.
    pub item_id: Option<String>,
}
