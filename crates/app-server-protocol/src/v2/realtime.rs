//! Spoken conversations beside a thread. Experimental; nothing of them is stored, and no item of
//! the thread comes from these notifications.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::RealtimeConversationVersion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Params of `thread/realtime/start`: open a session, in place of one that is open.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeStartParams {
    /// Loaded thread to talk to; the caller is subscribed to it.
    pub thread_id: String,
    /// Instructions for the voice model, ahead of a summary of what the thread is about.
    pub prompt: String,
    /// Id to give to the provider; absent uses the thread's id.
    pub session_id: Option<String>,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeAppendTextParams {
    /// Thread with the open session; the caller is subscribed to it.
    pub thread_id: String,
    /// What the user typed.
    pub text: String,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeStartedNotification {
    /// Thread that the session is for.
    pub thread_id: String,
    /// Id of the session at the provider; null if it has none.
    pub session_id: Option<String>,
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
