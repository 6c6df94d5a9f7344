//! Tools of the client.

use std::time::Duration;

use codex_model_client::ToolSpec;
use codex_protocol::{
    DynamicToolCallRequestEvent, DynamicToolCallResponseEvent, DynamicToolContentItem,
    DynamicToolFunction, DynamicToolSpec, EventMsg, FunctionCallOutputBody,
    FunctionCallOutputContentItem,
};
use codex_session_base::events::TurnEmitter;
use codex_session_base::questions::{Question, QuestionAnswer, QuestionKey};
use futures::future::BoxFuture;
use serde_json::Value;

use super::arguments::arguments;
use super::editor_terminal::permit;
use super::hook_input::is_editor_terminal;
use super::offer::{ToolSetBuilder, ToolSituation};
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult};

const CANCELLED_MESSAGE: &str = "dynamic tool call was cancelled before receiving a response";

#[derive(Clone, Debug)]
pub(crate) struct DynamicTool {
    pub namespace: Option<String>,
    pub function: DynamicToolFunction,
}

pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    for tool in &situation.services.dynamic_tools {
        offer_tool(tool, builder);
    }
}

/// Adds a tool of the client. The name of a call in a namespace contains both, see
/// [`ToolCall::from_item`](super::call::ToolCall::from_item).
fn offer_tool(tool: &DynamicToolSpec, builder: &mut ToolSetBuilder) {
    let mut offered = Vec::new();
    for (namespace, function) in tool.functions() {
        let tool = DynamicTool {
            namespace: namespace.map(str::to_owned),
            function: function.clone(),
        };
        let name = match namespace {
            Some(namespace) => format!("{namespace}:{}", function.name),
            None => function.name.clone(),
        };
        if function.defer_loading {
            builder.deferred.push((tool.namespace.clone(), tool.spec()));
            builder.accept(&name, tool);
        } else {
            offered.push(tool.spec());
            builder.handle(name, tool);
        }
    }
    match tool {
        // Providers refuse an empty namespace.
        _ if offered.is_empty() => {}
        DynamicToolSpec::Function(function) => match &function.namespace {
            Some(namespace) => add_to_namespace(&mut builder.specs, namespace, offered),
            None => builder.specs.extend(offered),
        },
        DynamicToolSpec::Namespace(namespace) => builder.specs.push(ToolSpec::Namespace {
            name: namespace.name.clone(),
            description: namespace.description.clone(),
            tools: offered,
        }),
    }
}

/// Adds tools to the namespace that earlier tools of the client have named, or to a new one.
fn add_to_namespace(specs: &mut Vec<ToolSpec>, namespace: &str, offered: Vec<ToolSpec>) {
    let known = specs.iter_mut().find_map(|spec| match spec {
        ToolSpec::Namespace { name, tools, .. } if name == namespace => Some(tools),
        _ => None,
    });
    match known {
        Some(tools) => tools.extend(offered),
        None => specs.push(ToolSpec::Namespace {
            name: namespace.to_owned(),
            description: format!("Tools in the {namespace} namespace."),
            tools: offered,
        }),
    }
}

/// The specification of a function that somebody outside of the engine carries out.
pub(super) fn function_spec(function: &DynamicToolFunction) -> ToolSpec {
    ToolSpec::Function {
        name: function.name.clone(),
        description: function.description.clone(),
        strict: false,
        defer_loading: None,
        parameters: function.input_schema.clone(),
    }
}

impl Tool for DynamicTool {
    fn spec(&self) -> ToolSpec {
        function_spec(&self.function)
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        let (namespace, tool) = (self.namespace.clone(), self.function.name.clone());
        Box::pin(async move { ask_client(&context, namespace, tool).await })
    }
}

async fn ask_client(context: &ToolContext, namespace: Option<String>, tool: String) -> ToolResult {
    let arguments: Value = arguments(context)?;
    if is_editor_terminal(&tool) {
        permit(context, &arguments).await?;
    }
    let (call_id, turn) = (context.call.id.clone(), context.settings.id.to_string());
    let event = EventMsg::DynamicToolCallRequest(DynamicToolCallRequestEvent {
        call_id: call_id.clone(),
        turn_id: turn.clone(),
        namespace: namespace.clone(),
        tool: tool.clone(),
        arguments: arguments.clone(),
    });
    let started = context.session.clock.elapsed();
    let mut end = DynamicCallEnd {
        emitter: context.emitter.clone(),
        event: Some(DynamicToolCallResponseEvent {
            call_id: call_id.clone(),
            turn_id: turn.clone(),
            namespace,
            tool,
            arguments,
            content_items: Vec::new(),
            success: false,
            error: Some(CANCELLED_MESSAGE.to_owned()),
            duration: Duration::ZERO,
        }),
    };
    let key = QuestionKey::DynamicTool(call_id);
    let Some(QuestionAnswer::DynamicTool(response)) =
        context.ask_client(Question { key, turn, event }).await
    else {
        return Err(ToolFailure::Model(CANCELLED_MESSAGE.to_owned()));
    };
    if let Some(event) = &mut end.event {
        event.content_items = response.content_items.clone();
        event.success = response.success;
        event.error = None;
        event.duration = context.session.clock.elapsed().saturating_sub(started);
    }
    Ok(output(response.content_items))
}

fn output(mut items: Vec<DynamicToolContentItem>) -> FunctionCallOutputBody {
    if let [DynamicToolContentItem::InputText { text }] = items.as_mut_slice() {
        return FunctionCallOutputBody::Text(std::mem::take(text).into());
    }
    let part = |item| match item {
        DynamicToolContentItem::InputText { text } => {
            FunctionCallOutputContentItem::InputText { text }
        }
        DynamicToolContentItem::InputImage { image_url } => {
            FunctionCallOutputContentItem::InputImage {
                image_url,
                detail: None,
            }
        }
    };
    FunctionCallOutputBody::Content(items.into_iter().map(part).collect())
}

/// Emits the end of the call, also if it is dropped.
struct DynamicCallEnd {
    emitter: TurnEmitter,
    event: Option<DynamicToolCallResponseEvent>,
}

impl Drop for DynamicCallEnd {
    fn drop(&mut self) {
        if let Some(event) = self.event.take() {
            self.emitter.emit(EventMsg::DynamicToolCallResponse(event));
        }
    }
}
