//! What every part of a session works with.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use codex_model_client::ThreadConnection;
use codex_protocol::{CallToolResult, ThreadId, ThreadPin};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::budget::ThreadBudget;
use crate::config::SessionConfig;
use crate::events::Emitter;
use crate::history::{ContextSnapshot, SentPrefix};
use crate::ports::{Clock, Ids, Processes};

/// The configuration, the ports and the emitter of a session. Fixed when the session starts.
#[derive(Debug)]
pub struct SessionContext {
    pub config: SessionConfig,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    pub processes: Arc<dyn Processes>,
    pub emitter: Emitter,
    /// What the thread uses.
    pub budget: Arc<ThreadBudget>,
    /// The connection to the model, for providers that keep one per thread.
    pub connection: ThreadConnection,
    /// How the session came about, until its first turn.
    pub beginning: Mutex<Option<SessionBeginning>>,
    /// Calls tools of the thread's MCP servers. Set when there are servers.
    pub mcp_tools: OnceLock<Box<dyn McpToolCaller>>,
    /// Whether the user was told that startup files of shells are not read.
    pub warned_of_startup_files: AtomicBool,
    /// The models outside of the catalogue that people were told of.
    pub models_told_of: Mutex<BTreeSet<String>>,
    /// What the last request of a turn had; none before the first one and after the history was replaced.
    pub last_request: Mutex<Option<ContextSnapshot>>,
    /// What the server may have kept of the last request, if anybody is told where the next one does not begin like it.
    pub sent_prefix: Mutex<Option<SentPrefix>>,
    /// What no compaction drops.
    pub pins: Mutex<Vec<ThreadPin>>,
    /// Work that nobody waits for. It ends with the session.
    pub background: Mutex<JoinSet<()>>,
}

/// Why a tool of an MCP server was not called for a hook, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookCallFailed(pub String);

/// Calls tools of MCP servers.
pub trait McpToolCaller: Debug + Send + Sync {
    /// Calls a tool for a hook, once its server has started.
    fn call_for_hook(
        &self,
        server: &str,
        tool: &str,
        arguments: Value,
        limit: Duration,
    ) -> BoxFuture<'static, Result<CallToolResult, HookCallFailed>>;
}

/// How a session came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionBeginning {
    Startup,
    Resume,
    Fork,
    /// The history was compacted.
    Compaction,
}

impl SessionContext {
    /// The thread at whose requests the provider's cache begins: forks and agents begin like it.
    pub fn cache_root(&self) -> &ThreadId {
        let root = self.config.identity.cache_root.as_ref();
        root.unwrap_or_else(|| self.emitter.thread())
    }

    /// Does work that nobody waits for.
    pub fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut background = self.background.lock();
        while background.try_join_next().is_some() {}
        background.spawn(work);
    }
}
