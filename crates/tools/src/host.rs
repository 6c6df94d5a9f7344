//! Tools that the embedder carries out.

use std::sync::Arc;

use codex_model_client::ToolSpec;
use codex_protocol::DynamicToolFunction;
use codex_session_base::agents::is_agent;
use codex_session_base::config::{HostCall, HostTools};
use futures::future::BoxFuture;
use serde_json::Value;

use super::arguments::arguments;
use super::dynamic::function_spec;
use super::offer::{ToolSetBuilder, ToolSituation};
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct HostTool {
    pub tools: Arc<dyn HostTools>,
    pub function: DynamicToolFunction,
}

pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    let Some(tools) = &situation.config.services.host_tools else {
        return;
    };
    if is_agent(situation.config) {
        return;
    }
    let are_offered = tools.are_offered();
    for function in tools.functions() {
        let name = function.name.clone();
        let tool = HostTool {
            tools: Arc::clone(tools),
            function,
        };
        if are_offered {
            builder.offer(tool);
        } else {
            builder.accept(&name, tool);
        }
    }
}

impl Tool for HostTool {
    fn spec(&self) -> ToolSpec {
        function_spec(&self.function)
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        let (tools, name) = (Arc::clone(&self.tools), self.function.name.clone());
        Box::pin(async move {
            let arguments: Value = arguments(&context)?;
            // What the response used counts before what the tool does.
            context.gate().response_end().await;
            let called = tools.call(HostCall {
                thread: context.emitter.thread_emitter().thread().to_string(),
                turn: context.settings.id.to_string(),
                name,
                arguments,
            });
            match called.await {
                Ok(output) => text(output),
                Err(error) => Err(ToolFailure::Model(error.0)),
            }
        })
    }
}
