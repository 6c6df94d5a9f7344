//! Tools of MCP servers.

use std::time::Duration;

use codex_gate::{Effect, McpEffect};
use codex_mcp_client::McpError;
use codex_model_client::ToolSpec;
use codex_protocol::{
    CallToolResult, EventMsg, McpInvocation, McpToolCallBeginEvent, McpToolCallEndEvent,
};
use codex_sandbox::{Grants, SANDBOX_NAME};
use codex_session_base::events::TurnEmitter;
use codex_session_base::gate::Denied;
use codex_session_base::mcp::{OfferedTool, error_output, for_text_models, output_of};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::arguments::incompatible;
use super::call::ToolPayload;
use super::offer::{ToolSetBuilder, ToolSituation};
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult};

/// A tool of a server.
#[derive(Clone, Debug)]
pub(crate) struct McpTool(pub OfferedTool);

pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    for tool in &situation.mcp.tools {
        builder.offer(McpTool(tool.clone()));
        builder.namespaces.add(tool);
    }
    for spec in &situation.mcp.recorded {
        builder.namespaces.add_recorded(spec);
        builder.recorded.insert(spec.name().to_owned());
        builder.specs.push(spec.clone());
    }
}

impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: self.0.name.clone(),
            description: self.0.description.clone(),
            strict: false,
            defer_loading: None,
            parameters: self.0.parameters.clone(),
        }
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        let tool = self.0.clone();
        Box::pin(async move { call(&context, &tool).await })
    }
}

async fn call(context: &ToolContext, offered: &OfferedTool) -> ToolResult {
    let ToolPayload::Function(text) = &context.call.payload else {
        return Err(incompatible(context));
    };
    let arguments: Option<Value> = match text.trim() {
        "" => None,
        text => match serde_json::from_str(text) {
            Ok(arguments) => Some(arguments),
            Err(error) => return Ok(error_output(&format!("err: {error}"))),
        },
    };
    let item = McpCallItem::begin(
        context,
        McpInvocation {
            server: offered.server.clone(),
            tool: offered.tool.name.clone(),
            arguments: arguments.clone(),
        },
        offered.tool.annotations["readOnlyHint"].as_bool(),
    );
    if let Err(stopped) = context
        .gate()
        .permit(effect(offered, arguments.as_ref()))
        .await
    {
        let message = match stopped {
            Denied::Refused(reason) | Denied::Reviewed(reason) => reason,
            Denied::Declined => "user rejected MCP tool call".to_owned(),
            Denied::Cancelled => "user cancelled MCP tool call".to_owned(),
            Denied::Aborted => return Err(ToolFailure::Aborted),
        };
        item.end(Duration::ZERO, Err(message.clone()));
        return Ok(error_output(&message));
    }
    let began = context.session.clock.elapsed();
    let result = ask_server(context, offered, arguments).await;
    let result = if context.settings.model.takes_images() {
        result
    } else {
        result.map(for_text_models)
    };
    let took = context.session.clock.elapsed().saturating_sub(began);
    let output = match &result {
        Ok(result) => output_of(result),
        Err(message) => error_output(message),
    };
    context.set_value(|| match &result {
        Ok(result) => json!(result),
        Err(message) => json!({
            "content": [{ "type": "text", "text": message }],
            "isError": true,
        }),
    });
    item.end(took, result);
    Ok(output)
}

fn effect(offered: &OfferedTool, arguments: Option<&Value>) -> Effect {
    let annotations = &offered.tool.annotations;
    let title = annotations["title"].as_str().map(str::to_owned);
    Effect::Mcp(McpEffect {
        server: offered.server.clone(),
        app: offered.app.clone(),
        tool: offered.tool.name.clone(),
        title: offered.tool.title.clone().or(title),
        description: offered.tool.description.clone(),
        arguments: arguments.cloned(),
        annotations: annotations.clone(),
        approval: offered.approval,
    })
}

async fn ask_server(
    context: &ToolContext,
    offered: &OfferedTool,
    arguments: Option<Value>,
) -> Result<CallToolResult, String> {
    let (server, tool) = (&offered.server, &offered.tool.name);
    let failed = |cause: &str| {
        format!(
            "tool call error: tool call failed for `{server}/{tool}`\n\nCaused by:\n    {cause}"
        )
    };
    if let Some(arguments) = arguments
        .as_ref()
        .filter(|arguments| !arguments.is_object())
    {
        let wrong = format!("MCP tool arguments must be a JSON object, got {arguments}");
        return Err(format!("tool call error: {wrong}"));
    }
    let servers = context.services.mcp.current();
    let (configured, running) = servers
        .running(server)
        .await
        .map_err(|error| failed(&error.0))?;
    if !configured.allows(tool) {
        return Err(format!(
            "tool call error: tool '{tool}' is disabled for MCP server '{server}'"
        ));
    }
    let meta = meta_of(context);
    let called = running
        .connection
        .call(tool, arguments, meta, offered.limit);
    called
        .await
        .map_err(|error: McpError| failed(&error.to_string()))
}

/// The metadata for the server about the turn.
fn meta_of(context: &ToolContext) -> Value {
    let (session, settings) = (&context.session, &context.settings);
    let policy = settings.turn_policy(&session.config);
    let confines = || policy.can_confine(&Grants::default(), session.processes.levels());
    let sandbox = if policy.is_open() || !confines() {
        "none"
    } else {
        SANDBOX_NAME
    };
    let mut meta = json!({
        "x-codex-turn-metadata": {
            "session_id": session.emitter.thread(),
            "turn_id": &*settings.id,
            "sandbox": sandbox,
        },
    });
    let observer = session.emitter.observer();
    if let Some(id) = observer.and_then(|own| own.mcp_called(&settings.id, &context.call.id)) {
        meta["codex_bridge_mcp_call_id"] = id.into();
    }
    meta
}

/// The item of a call. Emits its end exactly once, also if it is dropped.
pub(super) struct McpCallItem {
    emitter: TurnEmitter,
    event: Option<McpToolCallEndEvent>,
}

impl McpCallItem {
    pub(super) fn begin(
        context: &ToolContext,
        invocation: McpInvocation,
        read_only_hint: Option<bool>,
    ) -> Self {
        let (emitter, call_id) = (context.emitter.clone(), context.call.id.clone());
        emitter.emit(EventMsg::McpToolCallBegin(McpToolCallBeginEvent {
            call_id: call_id.clone(),
            invocation: invocation.clone(),
            read_only_hint,
        }));
        let event = McpToolCallEndEvent {
            call_id,
            invocation,
            read_only_hint,
            duration: Duration::ZERO,
            result: Err("the call was interrupted".to_owned()),
        };
        Self {
            emitter,
            event: Some(event),
        }
    }

    pub(super) fn end(mut self, duration: Duration, result: Result<CallToolResult, String>) {
        if let Some(event) = &mut self.event {
            event.duration = duration;
            event.result = result;
        }
    }
}

impl Drop for McpCallItem {
    fn drop(&mut self) {
        if let Some(event) = self.event.take() {
            self.emitter.emit(EventMsg::McpToolCallEnd(event));
        }
    }
}
