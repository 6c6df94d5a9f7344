//! The MCP servers of a session.

use codex_session_base::config::{McpServer, within_limits};
use codex_session_base::mcp::SandboxState;

use super::actor::SessionActor;
use super::call::ThreadCall;

/// Replaces the MCP servers when the next turn starts.
#[derive(Debug)]
pub struct ReplaceMcpServers(pub Vec<McpServer>);

impl ThreadCall for ReplaceMcpServers {
    type Reply = ();

    async fn run(self, session: &mut SessionActor) {
        session.other_servers = Some(self.0);
    }
}

impl SessionActor {
    /// Starts these MCP servers in place of the current ones.
    pub(crate) fn start_mcp_servers(&self, servers: Vec<McpServer>) {
        let settings = self.settings();
        let limits = &self.context.config.options.network_limits;
        let policy = within_limits(&settings.sandbox_policy, limits);
        let sandbox = SandboxState::from_policy(&policy, &settings.cwd);
        self.base.tool_services.mcp.start(servers, &sandbox);
    }
}
