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
use crate::history::ContextSnapshot;
use crate::ports::{Clock, Ids, Processes};

/// The configuration, the ports and the emitter of a session. Fixed when the session starts.
#[derive(Debug)]
pub(crate) struct SessionContext {
    pub(crate) config: SessionConfig,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) processes: Arc<dyn Processes>,
    pub(crate) emitter: Emitter,
    /// What the thread uses.
    pub(crate) budget: Arc<ThreadBudget>,
    /// The connection to the model, for providers that keep one per thread.
    pub(crate) connection: ThreadConnection,
    /// How the session came about, until its first turn.
    pub(crate) beginning: Mutex<Option<SessionBeginning>>,
    /// Calls tools of the thread's MCP servers. Set when there are servers.
    pub(crate) mcp_tools: OnceLock<Box<dyn McpToolCaller>>,
    /// Whether the user was told that startup files of shells are not read.
    pub(crate) warned_of_startup_files: AtomicBool,
    /// The models outside of the catalogue that people were told of.
    pub(crate) models_told_of: Mutex<BTreeSet<String>>,
    /// What the last request of a turn had; none before the first one and after the history was replaced.
    pub(crate) last_request: Mutex<Option<ContextSnapshot>>,
    /// What no compaction drops.
    pub(crate) pins: Mutex<Vec<ThreadPin>>,
    /// Work that nobody waits for. It ends with the session.
    pub(crate) background: Mutex<JoinSet<()>>,
}

/// Calls tools of MCP servers.
pub(crate) trait McpToolCaller: Debug + Send + Sync {
    /// Calls a tool for a hook, once its server has started. The error is a sentence.
    fn call_for_hook(
        &self,
        server: &str,
        tool: &str,
        arguments: Value,
        limit: Duration,
    ) -> BoxFuture<'static, Result<CallToolResult, String>>;
}

/// How a session came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionBeginning {
    Startup,
    Resume,
    Fork,
    /// The history was compacted.
    Compaction,
}

impl SessionContext {
    /// The thread at whose requests the provider's cache begins: forks and agents begin like it.
    pub(crate) fn cache_root(&self) -> &ThreadId {
        let root = self.config.identity.cache_root.as_ref();
        root.unwrap_or_else(|| self.emitter.thread())
    }

    /// Does work that nobody waits for.
    pub(crate) fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut background = self.background.lock();
        while background.try_join_next().is_some() {}
        background.spawn(work);
    }
}
