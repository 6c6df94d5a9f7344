//! Calls of tools for hooks.

use std::time::Duration;

use codex_protocol::CallToolResult;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::McpServers;
use crate::session_context::{HookCallFailed, McpToolCaller};

impl McpToolCaller for McpServers {
    fn call_for_hook(
        &self,
        server: &str,
        tool: &str,
        arguments: Value,
        limit: Duration,
    ) -> BoxFuture<'static, Result<CallToolResult, HookCallFailed>> {
        let (servers, meta) = (self.current(), json!({ "threadId": self.thread() }));
        let (server, tool) = (server.to_owned(), tool.to_owned());
        let call = async move {
            let running = servers.running(&server).await;
            let (_, running) = running.map_err(|error| HookCallFailed(error.0))?;
            let answer = running.connection.call(&tool, Some(arguments), meta, limit);
            answer
                .await
                .map_err(|error| HookCallFailed(error.to_string()))
        };
        call.boxed()
    }
}
