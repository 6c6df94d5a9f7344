//! The state of a loaded thread, for readers outside of its task.

use std::sync::Arc;

use codex_app_server_protocol::v2::Thread;
use codex_projection::RunningTurn;
use futures::FutureExt as _;
use serde_json::{Map, Value};

use super::{Actor, McpServers, ThreadHandle};

/// The state of a loaded thread. All earlier turns can be read from its file.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// Without turns.
    pub(crate) thread: Thread,
    /// The turn that runs.
    pub(crate) running: Option<RunningTurn>,
    /// The newest startup status of its MCP servers.
    pub(crate) mcp_servers: McpServers,
    /// The overrides of the request that opened it.
    pub(crate) overrides: Arc<Map<String, Value>>,
}

impl ThreadHandle {
    /// The current state; none if the thread is closed.
    pub(crate) async fn describe(&self) -> Option<Snapshot> {
        self.call(|thread| thread.describe().boxed()).await.ok()
    }
}

impl Actor {
    async fn describe(&mut self) -> Snapshot {
        let _ = self.thread.flush().await;
        Snapshot {
            thread: self.facts.thread(self.status()),
            running: self.fold.running_turn(),
            mcp_servers: self.mcp_servers.clone(),
            overrides: Arc::clone(&self.facts.overrides),
        }
    }
}
