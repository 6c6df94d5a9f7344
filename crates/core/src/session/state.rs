//! What a session does at the moment.

use std::collections::BTreeMap;

use codex_protocol::{ServiceTier, UsageLimits};
use codex_session_base::history::Conversation;
use codex_session_base::input::TurnInput;
use codex_session_base::thread::TaskKind;
use codex_session_base::turn_settings::RealtimeMode;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::turn::TurnScope;

/// Whether a task runs, and who has the conversation.
#[derive(Debug)]
pub(super) enum SessionState {
    Idle(Box<Conversation>),
    Running(Box<RunningTask>),
    /// Only while one of the others becomes the other.
    Between,
}

/// The running task.
#[derive(Debug)]
pub(super) struct RunningTask {
    pub(super) kind: TaskKind,
    pub(super) scope: TurnScope,
    pub(super) task: JoinHandle<Conversation>,
}

/// A turn that waits for the end of a task that takes no input.
#[derive(Debug)]
pub(super) struct QueuedTurn {
    pub(super) id: String,
    pub(super) input: TurnInput,
    pub(super) overrides: TurnOverrides,
}

/// What differs from the settings of the thread for one turn alone.
#[derive(Debug, Default)]
pub(super) struct TurnOverrides {
    /// The JSON Schema of the answer.
    pub(super) schema: Option<Value>,
    pub(super) service_tier: Option<ServiceTier>,
    pub(super) root_turn_id: Option<String>,
    /// Limits that take the place of those of the thread.
    pub(super) limits: UsageLimits,
    /// Values of the client for the model's provider.
    pub(super) metadata: BTreeMap<String, String>,
    /// Whether a realtime conversation lasts.
    pub(super) realtime: RealtimeMode,
    /// Why the turn fails at once: its settings were refused, or another process writes the thread.
    pub(super) refused: Option<String>,
}

impl SessionState {
    /// Waits for the end of the running task; for ever if none runs. None if it panicked.
    pub(super) async fn task_ended(&mut self) -> Option<Conversation> {
        match self {
            Self::Running(running) => (&mut running.task).await.ok(),
            Self::Idle(_) | Self::Between => std::future::pending().await,
        }
    }
}
