//! `mcpServer/tool/call` and `mcpServer/resource/read`: MCP servers used by a client, without a turn.

use std::sync::Arc;

use codex_app_server_protocol::v2::{
    McpResourceReadParams, McpResourceReadResponse, McpServerToolCallParams,
    McpServerToolCallResponse,
};
use codex_mcp_client::{CancelElicitations, McpError};
use serde_json::{Value, json};

use super::call::RequestContext;
use super::{engine, mcp_servers};
use crate::failure::Failure;

/// Calls a tool of a thread's MCP server. No item and no approval: the client acts for its user.
pub(super) async fn call(
    RequestContext { server, .. }: RequestContext,
    params: McpServerToolCallParams,
) -> Result<McpServerToolCallResponse, Failure> {
    let thread = engine(&server, &params.thread_id).await?;
    mcp_servers::check_environment(&params.server, params.environment_id.as_deref())
        .map_err(|error| Failure::internal(error.0))?;
    let found = thread.mcp_server(&params.server).await;
    let (mcp_server, connection) = found.map_err(|error| Failure::internal(error.0))?;
    if let Some(arguments) = &params.arguments
        && !arguments.is_object()
    {
        let (server, tool) = (&params.server, &params.tool);
        return Err(Failure::internal(format!(
            "tool call failed for `{server}/{tool}`: the arguments must be a JSON object, not {arguments}"
        )));
    }
    let mut meta = params.meta.unwrap_or_else(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert("threadId".to_owned(), params.thread_id.into());
    }
    let limit = mcp_server.request_timeout;
    let called = connection.call(&params.tool, params.arguments, meta, limit);
    let result = called.await.map_err(refused)?;
    Ok(McpServerToolCallResponse {
        content: result.content,
        structured_content: result.structured_content,
        is_error: result.is_error,
        meta: result.meta,
    })
}

/// Reads a resource of a thread's MCP server, or of a configured server through a temporary connection.
pub(super) async fn read(
    RequestContext { server, .. }: RequestContext,
    params: McpResourceReadParams,
) -> Result<McpResourceReadResponse, Failure> {
    mcp_servers::check_environment(&params.server, params.environment_id.as_deref())
        .map_err(|error| Failure::internal(error.0))?;
    let read = match &params.thread_id {
        Some(id) => {
            let thread = engine(&server, id).await?;
            let found = thread.mcp_server(&params.server).await;
            let (mcp_server, connection) = found.map_err(|error| Failure::internal(error.0))?;
            let limit = mcp_server.request_timeout;
            connection.read(&params.uri, limit).await
        }
        None => {
            let settings = mcp_servers::configured(&server).await?;
            let configured = settings.enabled.into_iter();
            let mut configured = configured.map(|configured| configured.server);
            let unknown = || Failure::internal(format!("unknown MCP server '{}'", params.server));
            let found = configured.find(|one| one.name == params.server);
            let found = found.ok_or_else(unknown)?;
            let running = settings
                .connector
                .start(&found, Arc::new(CancelElicitations))
                .await;
            let running = running.map_err(refused)?;
            let limit = found.request_timeout;
            running.connection.read(&params.uri, limit).await
        }
    };
    let mut result = read.map_err(refused)?;
    let contents = result.get_mut("contents").map(Value::take);
    let contents = serde_json::from_value(contents.unwrap_or_else(|| json!([])));
    let unreadable = |error| {
        Failure::internal(format!(
            "the contents of the resource cannot be read: {error}"
        ))
    };
    Ok(McpResourceReadResponse {
        contents: contents.map_err(unreadable)?,
        origin_call_id: None,
    })
}

/// Errors of the MCP server keep their code.
fn refused(error: McpError) -> Failure {
    match error {
        McpError::Remote {
            code,
            message,
            data,
        } => Failure::of_server(code, message, data),
        other => Failure::internal(format!("failed to get client: {other}")),
    }
}
