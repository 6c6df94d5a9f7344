//! Events of a realtime conversation: voice and text beside the turns of a thread.

use codex_app_server_protocol_macros::sparse;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::settings::RealtimeConversationVersion;

/// A realtime conversation started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealtimeConversationStartedEvent {
    /// The server's id of the conversation.
    pub session_id: Option<String>,
    /// The version of its protocol.
    pub version: RealtimeConversationVersion,
}

/// An event of a realtime conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RealtimeConversationRealtimeEvent {
    pub payload: RealtimeEvent,
}

/// A realtime conversation ended.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealtimeConversationClosedEvent {
    /// The reason: `requested`, `transport_closed` or `error`.
    pub reason: Option<String>,
}

/// An event of a realtime conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum RealtimeEvent {
    /// The server applied the settings.
    SessionUpdated {
        /// The server's id of the conversation.
        session_id: String,
        /// The instructions in force.
        instructions: Option<String>,
    },
    /// Speech of the user started.
    InputAudioSpeechStarted {
        /// The item for the speech.
        item_id: Option<String>,
    },
    /// A delta of the transcript of the user.
    InputTranscriptDelta {
        /// The added text.
        delta: String,
    },
    /// Something that the user said, after its deltas.
    InputTranscriptDone {
        /// The whole text.
        text: String,
    },
    /// A delta of the transcript of the model.
    OutputTranscriptDelta {
        /// The added text.
        delta: String,
    },
    /// Something that the model said, after its deltas.
    OutputTranscriptDone {
        /// The whole text.
        text: String,
    },
    /// A chunk of audio of the model.
    AudioOut(RealtimeAudioFrame),
    /// A response started.
    ResponseCreated {
        /// The id of the response.
        response_id: Option<String>,
    },
    /// A response ended.
    ResponseDone {
        /// The id of the response.
        response_id: Option<String>,
    },
    /// A response was cancelled.
    ResponseCancelled {
        /// The id of the response.
        response_id: Option<String>,
    },
    /// An item was added to the conversation, as received from the server.
    ConversationItemAdded(Value),
    /// An item of the conversation is complete.
    ConversationItemDone { item_id: String },
    /// The model delegates work to the thread.
    HandoffRequested(RealtimeHandoffRequested),
    /// An error.
    Error(String),
}

/// Work that the model delegates to the thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealtimeHandoffRequested {
    /// The id to use in the result.
    pub handoff_id: String,
    /// The item of the request.
    pub item_id: String,
    /// The request.
    pub input_transcript: String,
    /// The transcript since the last delegation.
    #[serde(default)]
    pub active_transcript: Vec<RealtimeTranscriptEntry>,
}

/// An entry of the transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealtimeTranscriptEntry {
    /// The role of the speaker.
    pub role: String,
    pub text: String,
}

/// A chunk of audio.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealtimeAudioFrame {
    /// The samples, in base64.
    pub data: String,
    /// The sample rate per second.
    pub sample_rate: u32,
    /// Channels.
    pub num_channels: u16,
    /// Samples in each channel.
    pub samples_per_channel: Option<u32>,
    /// The item that it belongs to.
    pub item_id: Option<String>,
}
