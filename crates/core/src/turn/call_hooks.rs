//! The hooks around a call of a tool.

use std::sync::{Arc, OnceLock};

use codex_hooks::{EventInput, ToolUse};
use codex_protocol::{FunctionCallOutputBody, HookEventName, ResponseItem};
use codex_session_base::hooks::HookResults;
use codex_tools::{
    COMMAND_TOOL, Tool, ToolCall, ToolFailure, ToolResult, lacks_command, text, tool_use,
    typed_into, with_updated_input,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::scope::TurnScope;

/// Carries a call out between its hooks. What they add to the context is put into `contexts`.
pub(super) async fn run_with_hooks(
    scope: &TurnScope,
    tool: &dyn Tool,
    call: &ToolCall,
    response_ended: CancellationToken,
    contexts: &mut Vec<ResponseItem>,
) -> ToolResult {
    let has_hooks = |event| tool.has_hooks() && scope.session.has_hooks(event);
    let (before, after) = (
        has_hooks(HookEventName::PreToolUse),
        has_hooks(HookEventName::PostToolUse),
    );
    if (!before && !after) || lacks_command(call) {
        return tool
            .call(scope.tool_context(call.clone(), response_ended))
            .await;
    }
    let mut call = call.clone();
    let terminal = typed_into(&call).and_then(|id| scope.tool_services.terminals.get(id));
    let line = terminal.map_or_else(String::new, |terminal| terminal.typed_line());
    let types = typed_into(&call).is_some();
    let mut tool_use = tool_use(&call, &line);
    if before && let Some(updated) = ask_before(scope, &tool_use, contexts).await? {
        call = with_updated_input(&call, &line, updated)
            .map_err(|unusable| ToolFailure::Model(unusable.0))?;
        tool_use = codex_tools::tool_use(&call, &line);
    }
    let script = call.script.clone();
    let mut context = scope.tool_context(call, response_ended);
    let response = Arc::new(OnceLock::new());
    context.command_output = Some(Arc::clone(&response));
    let output = tool.call(context).await?;
    if !after {
        return Ok(output);
    }
    let response = match response.get() {
        Some(output) => Value::String(String::clone(output)),
        // The command still runs, or was no command.
        None if tool_use.name == COMMAND_TOOL && !types => return Ok(output),
        None => response_of(&output),
    };
    let objected = ask_after(scope, &tool_use, &response, contexts).await;
    let Some(objected) = objected else {
        return Ok(output);
    };
    if let Some(script) = script {
        script.take();
    }
    text(objected)
}

/// What the hooks of a recorded call added to the context.
pub(super) fn recorded_contexts(scope: &TurnScope, call: &ToolCall) -> Vec<ResponseItem> {
    let Some(replay) = &scope.session.config.services.replay else {
        return Vec::new();
    };
    let thread = scope.session.emitter.thread();
    let events = [HookEventName::PreToolUse, HookEventName::PostToolUse];
    let hooks = events.map(|event| HookResults(replay.hooks(thread, event, Some(&call.id))));
    hooks.iter().flat_map(HookResults::contexts).collect()
}

/// Runs the hooks before the call. Returns arguments in place of the model's, if there are any.
async fn ask_before(
    scope: &TurnScope,
    tool_use: &ToolUse,
    contexts: &mut Vec<ResponseItem>,
) -> Result<Option<Value>, ToolFailure> {
    let event = EventInput::PreToolUse(tool_use);
    let mut results = scope.occasion().run_hooks(&event).await;
    contexts.extend(results.contexts());
    if let Some((_, reason)) = results.objections().next() {
        let command = tool_use.input["command"].as_str();
        return Err(ToolFailure::Model(match command {
            Some(command) if tool_use.name == COMMAND_TOOL => {
                format!("Command blocked by PreToolUse hook: {reason}. Command: {command}")
            }
            _ => format!(
                "Tool call blocked by PreToolUse hook: {reason}. Tool: {}",
                tool_use.name
            ),
        }));
    }
    Ok(results.take_updated_input())
}

/// Runs the hooks after the call. Returns what they object with, which replaces the output.
async fn ask_after(
    scope: &TurnScope,
    tool_use: &ToolUse,
    response: &Value,
    contexts: &mut Vec<ResponseItem>,
) -> Option<String> {
    let event = EventInput::PostToolUse {
        tool: tool_use,
        response,
    };
    let results = scope.occasion().run_hooks(&event).await;
    contexts.extend(results.contexts());
    let reasons: Vec<&str> = results.objections().map(|(_, reason)| reason).collect();
    (!reasons.is_empty()).then(|| reasons.join("\n\n"))
}

/// The output of a tool, as hooks are told.
fn response_of(output: &FunctionCallOutputBody) -> Value {
    match output {
        FunctionCallOutputBody::Text(text) => Value::String(text.as_str().into_owned()),
        other => serde_json::to_value(other).unwrap_or_default(),
    }
}
