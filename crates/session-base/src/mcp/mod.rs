//! The MCP servers of a thread: started in the background, called through their tools, ended with the thread.
//!
//! A server that fails does not fail the thread: its tools are not offered. One that dies later is not
//! started again until the configuration is read again.

mod hook_calls;
mod names;
mod output;
mod sandbox_state;
mod schema;
mod servers;
mod startup;

use std::sync::Arc;

use codex_mcp_client::McpConnector;
use parking_lot::Mutex;

use crate::config::McpServer;
use crate::events::Emitter;
use crate::requests::Requests;

pub use names::OfferedTool;
pub use output::{error_output, for_text_models, output_of};
pub use sandbox_state::SandboxState;
pub use servers::{McpServerSet, McpServerUnavailable, RequiredServersFailed};
pub use startup::Elicitation;

/// The servers of a thread. They can be replaced as a whole. Cheap to clone.
#[derive(Clone, Debug)]
pub struct McpServers(Arc<McpServersState>);

#[derive(Debug)]
struct McpServersState {
    /// Without it there are no servers.
    connector: Option<McpConnector>,
    emitter: Emitter,
    elicitations: Requests<Elicitation>,
    takes_openai_forms: bool,
    servers: Mutex<Arc<McpServerSet>>,
}

impl McpServers {
    /// No servers yet.
    pub fn new(
        connector: Option<McpConnector>,
        emitter: Emitter,
        elicitations: Requests<Elicitation>,
        takes_openai_forms: bool,
    ) -> Self {
        Self(Arc::new(McpServersState {
            connector,
            emitter,
            elicitations,
            takes_openai_forms,
            servers: Mutex::default(),
        }))
    }

    /// Starts these servers in place of the current ones.
    pub fn start(&self, servers: Vec<McpServer>, sandbox: &SandboxState) {
        let started = match &self.0.connector {
            Some(connector) => {
                let (emitter, elicitations) = (&self.0.emitter, &self.0.elicitations);
                let forms = self.0.takes_openai_forms;
                startup::start(connector, emitter, elicitations, forms, servers, sandbox)
            }
            None => McpServerSet::default(),
        };
        *self.0.servers.lock() = Arc::new(started);
    }

    /// The id of the thread.
    fn thread(&self) -> &str {
        self.0.emitter.thread().as_str()
    }

    pub fn current(&self) -> Arc<McpServerSet> {
        Arc::clone(&self.0.servers.lock())
    }

    /// Stops waiting for servers that have not started yet.
    pub fn cancel_starts(&self) {
        self.0.servers.lock().cancelled.cancel();
    }

    /// Ends all servers.
    pub fn stop(&self) {
        *self.0.servers.lock() = Arc::default();
    }

    /// Waits for the required servers.
    pub async fn required(&self) -> Result<(), RequiredServersFailed> {
        let servers = self.current();
        servers.required().await
    }
}
