//! Realtime conversations: what starts one, and who knows its server.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use codex_http::HttpPool;
use codex_protocol::{RealtimeConversationVersion, ThreadId};
use codex_realtime::RealtimeSettings;
use futures::future::BoxFuture;

/// A conversation that is to start.
#[derive(Clone, Debug, Default)]
pub struct RealtimeStart {
    /// Instructions for the model, in place of the default ones. Empty: none.
    pub prompt: Option<String>,
    /// The id that the server is given, in place of the thread's.
    pub session_id: Option<String>,
    pub version: Option<RealtimeConversationVersion>,
    /// Whether the client wants to connect by WebRTC itself, which is not available.
    pub by_webrtc: bool,
    pub model: Option<String>,
    pub voice: Option<String>,
    /// Whether the model writes in place of speaking.
    pub writes: bool,
    /// Whether the instructions say nothing about the thread and its folder.
    pub without_context: bool,
    /// What the coding model is told while the conversation lasts, in place of the default text.
    pub start_instructions: Option<String>,
    /// What it is told afterwards.
    pub end_instructions: Option<String>,
}

/// The thread that a conversation is for.
#[derive(Clone, Debug)]
pub struct RealtimeThread {
    pub id: ThreadId,
    pub cwd: PathBuf,
    /// Its file, if it has one. Everything that was said is in it.
    pub rollout: Option<PathBuf>,
}

/// A conversation that can be opened.
#[derive(Clone, Debug)]
pub struct PreparedRealtime {
    pub settings: RealtimeSettings,
    pub pool: Arc<HttpPool>,
}

/// Why a conversation cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RealtimeUnavailable {
    /// Only the server itself connects.
    #[error(
        "realtime conversations over WebRTC are not available: the server talks to the provider over a websocket; leave \
         `transport` out"
    )]
    WebRtc,
    /// The settings allow no conversations.
    #[error("realtime conversations are off; the feature `realtime_conversation` switches them on")]
    Off,
    /// Nobody is logged in with an API key, and the provider has none.
    #[error("realtime conversation requires API key auth")]
    NoKey,
}

/// Knows the server of realtime conversations.
pub trait RealtimeService: Debug + Send + Sync {
    /// Finds out how to open a conversation.
    fn prepare(
        &self,
        start: RealtimeStart,
        thread: RealtimeThread,
    ) -> BoxFuture<'static, Result<PreparedRealtime, RealtimeUnavailable>>;

    /// What the coding model is told while a conversation lasts, in place of the default text.
    fn start_instructions(&self) -> Option<String>;
}
