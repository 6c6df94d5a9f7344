//! Spoken conversations beside a thread. Experimental; nothing of them is stored, and no item of
//! the thread comes from these notifications.

use codex_app_server_protocol_macros::{Experimental, Tagged, sparse};
use codex_protocol::{RealtimeConversationVersion, Update, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::realtime_items::RealtimeVoice;

/// Params of `thread/realtime/start`: open a session, in place of one that is open.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
#[unread(
    "0.169",
    "backendReasoningStatus",
    "clientManagedHandoffs",
    "codexResponseHandoffChannelPrefixes",
    "codexResponseHandoffMode",
    "codexResponseItemPrefix",
    "codexResponsesAsItems",
    "delegationAckFiller",
    "flushTranscriptTailOnSessionEnd",
    "initialItems",
    "voiceSessionId"
)]
pub struct ThreadRealtimeStartParams {
    /// Loaded thread to talk to; the caller is subscribed to it.
    pub thread_id: String,
    /// Instructions for the voice model, ahead of a summary of what the thread is about; null gives none, absent
    /// uses built-in ones.
    #[serde(default)]
    #[schemars(extend("x-required-until" = "0.117"))]
    pub prompt: Update<String>,
    /// Id to give to the provider; absent uses the thread's id.
    #[until("0.117")]
    pub session_id: Option<String>,
    /// The same, by its later name.
    #[since("0.140")]
    pub realtime_session_id: Option<String>,
    /// Model of this session, in place of the configured one.
    #[since("0.140")]
    pub model: Option<String>,
    /// Whether the model speaks or writes; absent means it speaks.
    #[since("0.140")]
    pub output_modality: Option<RealtimeOutputModality>,
    /// Set to false to leave the summary of the thread out.
    #[since("0.169")]
    pub include_startup_context: Option<bool>,
    /// What the coding model is told while the session lasts, in place of a built-in text.
    #[since("0.169")]
    pub realtime_start_instructions: Option<String>,
    /// What the coding model is told after the session, in place of a built-in text.
    #[since("0.169")]
    pub realtime_end_instructions: Option<String>,
    /// How to connect; only websockets are supported.
    #[since("0.140")]
    pub transport: Option<ThreadRealtimeStartTransport>,
    /// Version of the provider's protocol, in place of the configured one.
    #[since("0.140")]
    pub version: Option<RealtimeConversationVersion>,
    /// Voice of the model, in place of the default one.
    #[since("0.140")]
    pub voice: Option<RealtimeVoice>,
}

/// What the voice model emits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RealtimeOutputModality {
    /// Written words.
    Text,
    /// Spoken words.
    Audio,
}

/// A way to connect to the provider.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema, Experimental)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[schemars(transform = mark_members::<Self>)]
pub enum ThreadRealtimeStartTransport {
    /// A websocket of the server.
    Websocket,
    /// A WebRTC connection of the client.
    Webrtc {
        /// Offer of the client.
        sdp: String,
    },
    /// A call that the client has negotiated.
    #[since("0.169")]
    ExistingCall {
        /// Id of the call.
        call_id: String,
    },
}

/// Reply to `thread/realtime/start`: queued; success or failure is notified.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadRealtimeStartResponse {}

/// Params of `thread/realtime/appendAudio`: sound from the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeAppendAudioParams {
    /// Thread with the open session; the caller is subscribed to it.
    pub thread_id: String,
    /// The next piece of sound.
    pub audio: ThreadRealtimeAudioChunk,
}

/// Reply to `thread/realtime/appendAudio`: queued, or dropped if the queue is full.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadRealtimeAppendAudioResponse {}

/// Params of `thread/realtime/appendText`: typed words from the user.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ThreadRealtimeAppendTextParams {
    /// Thread with the open session; the caller is subscribed to it.
    pub thread_id: String,
    /// What the user typed.
    pub text: String,
    /// Who says it; absent means the user.
    #[since("0.140")]
    pub role: Option<ConversationTextRole>,
}

/// Who says a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub enum ConversationTextRole {
    /// The user.
    User,
    /// The client.
    Developer,
    /// The model.
    #[since("0.169")]
    Assistant,
}

/// Reply to `thread/realtime/appendText`: queued.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadRealtimeAppendTextResponse {}

/// Params of `thread/realtime/stop`: end the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeStopParams {
    /// Thread with the session; the caller is subscribed to it.
    pub thread_id: String,
}

/// Reply to `thread/realtime/stop`: queued; `thread/realtime/closed` tells when it is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadRealtimeStopResponse {}

/// A piece of sound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeAudioChunk {
    /// PCM samples in base64.
    pub data: String,
    /// Samples per second and channel; the voice models use 24000.
    pub sample_rate: u32,
    /// Number of channels.
    pub num_channels: u16,
    /// Samples in this piece for each channel; null if not counted.
    pub samples_per_channel: Option<u32>,
    /// Provider's item that the sound belongs to; null if unknown.
    pub item_id: Option<String>,
}

/// Payload of `thread/realtime/started`: the session is connected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ThreadRealtimeStartedNotification {
    /// Thread that the session is for.
    pub thread_id: String,
    /// Id of the session at the provider; null if it has none.
    #[until("0.117")]
    pub session_id: Option<String>,
    /// The same, by its later name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub realtime_session_id: Option<String>,
    /// Dialect of the provider's protocol that is spoken.
    pub version: RealtimeConversationVersion,
}

/// Payload of `thread/realtime/itemAdded`: something that has no notification of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeItemAddedNotification {
    /// Thread that the session is for.
    pub thread_id: String,
    /// JSON from the provider or made from its event, such as a hand-over of work to the agent.
    pub item: Value,
}

/// Payload of `thread/realtime/transcriptUpdated`: words that were spoken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeTranscriptUpdatedNotification {
    /// Thread that the session is for.
    pub thread_id: String,
    /// Who spoke, such as `user` or `assistant`.
    pub role: String,
    /// Text to append to what that speaker said, not the whole of it.
    pub text: String,
}

/// Payload of `thread/realtime/outputAudio/delta`: sound for the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeOutputAudioDeltaNotification {
    /// Thread that the session is for.
    pub thread_id: String,
    /// The next piece of sound to play.
    pub audio: ThreadRealtimeAudioChunk,
}

/// Payload of `thread/realtime/error`: connecting or the session failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeErrorNotification {
    /// Thread that the session was for.
    pub thread_id: String,
    /// What failed, for the user.
    pub message: String,
}

/// Payload of `thread/realtime/closed`: the session is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeClosedNotification {
    /// Thread that the session was for.
    pub thread_id: String,
    /// Why: `requested`, `transport_closed` or `error`; null if unknown.
    pub reason: Option<String>,
}
