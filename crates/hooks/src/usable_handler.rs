//! What the kinds of handlers have in common, once they are known to be usable.

use crate::file::{CommandHandler, ErrorEffect, McpToolHandler};
use crate::hook::{HookAction, OnError};

/// A handler that can run.
#[derive(Clone, Debug)]
pub(crate) struct UsableHandler {
    pub(crate) action: HookAction,
    /// In seconds, as written.
    pub(crate) timeout: Option<u64>,
    pub(crate) status_message: Option<String>,
    pub(crate) context_limit: Option<u64>,
    pub(crate) on_error: OnError,
}

impl UsableHandler {
    pub(crate) fn of_command(handler: &CommandHandler) -> Self {
        Self {
            action: HookAction::Command {
                line: handler.command.clone(),
                is_async: handler.is_async,
            },
            timeout: handler.timeout,
            status_message: handler.status_message.clone(),
            context_limit: handler.additional_context_limit,
            on_error: on_error(handler.on_error),
        }
    }

    pub(crate) fn of_tool(handler: &McpToolHandler) -> Self {
        Self {
            action: HookAction::McpTool {
                server: handler.server.clone(),
                tool: handler.tool.clone(),
                input: handler.input.clone(),
            },
            timeout: handler.timeout,
            status_message: handler.status_message.clone(),
            context_limit: handler.additional_context_limit,
            on_error: on_error(handler.on_error),
        }
    }
}

fn on_error(written: Option<ErrorEffect>) -> OnError {
    match written {
        Some(ErrorEffect::Block) => OnError::Block,
        Some(ErrorEffect::Ignore) | None => OnError::Ignore,
    }
}
