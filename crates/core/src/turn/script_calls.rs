//! The calls of scripts: each is carried out like a call of the model, but its output goes to the script.

use std::sync::Arc;

use codex_code_mode::ScriptTool;
use codex_protocol::{FunctionCallOutputBody, FunctionCallOutputContentItem, ResponseItem};
use codex_session_base::cells::{
    ScriptCall, ScriptCaller, ScriptOrigin, ScriptRejection, ScriptValue, ServedTurn,
};
use codex_session_base::input::Input;
use codex_tools::{NestedTool, Tool, ToolCall, ToolFailure, ToolPayload, directs_agents};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::call_hooks::run_with_hooks;
use super::calls::RunningCalls;
use super::scope::TurnScope;

impl TurnScope {
    /// Carries out the calls of scripts while the result lives, if the model may write scripts.
    pub(super) fn serve_scripts(&self, calls: &RunningCalls) -> Option<ServedTurn> {
        if self.tools.current().nested().is_none() && self.session.config.options.js_repl.is_none()
        {
            return None;
        }
        let caller = TurnScriptCaller {
            scope: self.clone(),
            exclusive: Arc::default(),
            response_ended: calls.until_response_ended(),
        };
        Some(self.tool_services.cells().serve(Arc::new(caller)))
    }
}

/// Carries out calls of scripts within a turn.
#[derive(Clone, Debug)]
struct TurnScriptCaller {
    scope: TurnScope,
    /// Parallel tools take it shared, the others exclusively. The calls of the model have another one: a script runs within
    /// such a call.
    exclusive: Arc<RwLock<()>>,
    response_ended: CancellationToken,
}

impl ScriptCaller for TurnScriptCaller {
    fn tools(&self) -> Arc<[ScriptTool]> {
        let tools = self.scope.tools.current();
        let listed = tools.nested().map(|nested| Arc::clone(nested.listed()));
        listed.unwrap_or_else(|| Arc::from([]))
    }

    fn call(
        self: Arc<Self>,
        call: ScriptCall,
    ) -> BoxFuture<'static, Result<Value, ScriptRejection>> {
        let span = tracing::debug_span!("script_call", name = call.name, cell = call.cell);
        let run = async move {
            let caller = self.limited_to(&call.origin).map_err(ScriptRejection)?;
            let result = if call.is_raw {
                caller.run_raw(call).await
            } else {
                caller.run(call).await
            };
            result.map_err(ScriptRejection)
        };
        Box::pin(run.instrument(span))
    }

    fn notify(&self, call_id: &str, text: String) {
        let item = ResponseItem::CustomToolCallOutput {
            call_id: call_id.to_owned(),
            name: Some("exec".to_owned()),
            output: FunctionCallOutputBody::Text(text.into()),
        };
        // A full or closed queue takes nothing more: the script says it too late.
        let _ = self.scope.input_queue.put(Input::Note(Box::new(item)));
    }
}

impl TurnScriptCaller {
    /// The same for a call that may do no more than the turn that began its script.
    fn limited_to(&self, origin: &ScriptOrigin) -> Result<Self, String> {
        let settings = self.scope.settings.limited_to(&origin.turn, &origin.rights);
        let settings = settings.map_err(|error| error.to_string())?;
        let scope = TurnScope {
            settings,
            ..self.scope.clone()
        };
        Ok(Self {
            scope,
            ..self.clone()
        })
    }

    async fn run(&self, call: ScriptCall) -> Result<Value, String> {
        let tools = self.scope.tools.current();
        let nested = tools.nested().and_then(|nested| nested.find(&call.name));
        let Some(nested) = nested else {
            return Err(format!("unsupported call: {}", call.name));
        };
        let id = format!("exec-{}", uuid::Uuid::new_v4());
        let value = ScriptValue::default();
        let made = ToolCall {
            script: Some(value.clone()),
            ..nested.call(id, call.input)
        };
        let started = self.scope.session.clock.elapsed();
        let result = tokio::select! {
            biased;
            () = self.scope.stop.stopped() => Err(ToolFailure::Aborted),
            result = self.dispatch(nested, &made, call.cell, call.number) => result,
        };
        let took = self.scope.session.clock.elapsed().saturating_sub(started);
        let (budget, is_failed) = (&self.scope.budget, result.is_err());
        budget.add_call(&made.name, is_failed, took, 0);
        let result = match result {
            Ok(output) => Ok(value
                .take()
                .unwrap_or_else(|| value_of(&nested.name, output))),
            Err(ToolFailure::Model(text)) => Err(text),
            Err(ToolFailure::Aborted) => {
                return Err(made.aborted(took, self.scope.stop.origin()));
            }
        };
        if let Some(observer) = self.scope.session.emitter.observer() {
            let result = result.as_ref().map_err(String::as_str);
            observer.nested_ended(&self.scope.settings.id, &made.id, result);
        }
        result
    }

    /// Carries out a call of a console, which gets the output as the model would. It is not traced: bundles have no
    /// place for it.
    async fn run_raw(&self, call: ScriptCall) -> Result<Value, String> {
        let scope = &self.scope;
        let Some((tool, is_freeform)) = scope.tools.current().find_offered(&call.name) else {
            return Err(format!("unsupported call: {}", call.name));
        };
        let payload = match call.input {
            Value::String(text) if is_freeform => ToolPayload::Custom(text),
            other => ToolPayload::Function(other.to_string()),
        };
        let made = ToolCall {
            id: format!("exec-{}", uuid::Uuid::new_v4()),
            name: call.name,
            payload,
            script: None,
        };
        let started = scope.session.clock.elapsed();
        let result = tokio::select! {
            biased;
            () = scope.stop.stopped() => Err(ToolFailure::Aborted),
            result = self.run_tool(tool.as_ref(), &made) => result,
        };
        let took = scope.session.clock.elapsed().saturating_sub(started);
        scope.budget.add_call(&made.name, result.is_err(), took, 0);
        match result {
            Ok(output) => {
                serde_json::to_value(made.answer(output)).map_err(|error| error.to_string())
            }
            Err(ToolFailure::Model(text)) => Err(text),
            Err(ToolFailure::Aborted) => Err(made.aborted(took, scope.stop.origin())),
        }
    }

    /// Runs a call between its hooks, alone or beside others.
    async fn run_tool(
        &self,
        tool: &dyn Tool,
        call: &ToolCall,
    ) -> Result<FunctionCallOutputBody, ToolFailure> {
        let (_shared, _alone) = self.turn_of(tool).await;
        self.run_between_hooks(tool, call).await
    }

    /// Waits until the call may run.
    async fn turn_of(
        &self,
        tool: &dyn Tool,
    ) -> (
        Option<RwLockReadGuard<'_, ()>>,
        Option<RwLockWriteGuard<'_, ()>>,
    ) {
        if tool.is_parallel() {
            (Some(self.exclusive.read().await), None)
        } else {
            (None, Some(self.exclusive.write().await))
        }
    }

    async fn run_between_hooks(
        &self,
        tool: &dyn Tool,
        call: &ToolCall,
    ) -> Result<FunctionCallOutputBody, ToolFailure> {
        if self.scope.settings.is_narrowed && directs_agents(&call.name) {
            let refusal = "this script was begun with fewer permissions than the turn has, and agents \
                           may have those: it cannot tell them what to do";
            return Err(ToolFailure::Model(refusal.to_owned()));
        }
        let response_ended = self.response_ended.clone();
        let mut contexts = Vec::new();
        let result = run_with_hooks(&self.scope, tool, call, response_ended, &mut contexts).await;
        for context in contexts {
            let _ = self.scope.input_queue.put(Input::Note(Box::new(context)));
        }
        result
    }

    async fn dispatch(
        &self,
        nested: &NestedTool,
        call: &ToolCall,
        cell: u64,
        number: u64,
    ) -> Result<FunctionCallOutputBody, ToolFailure> {
        let scope = &self.scope;
        let tools = scope.tools.current();
        let Some(tool) = tools.find(call) else {
            return Err(ToolFailure::Model(format!(
                "unsupported call: {}",
                call.name
            )));
        };
        let (_shared, _alone) = self.turn_of(tool.as_ref()).await;
        if let Some(observer) = scope.session.emitter.observer() {
            let item = item_of(nested, call);
            observer.nested_dispatched(&scope.settings.id, &item, cell, number);
        }
        self.run_between_hooks(tool.as_ref(), call).await
    }
}

/// The call as an item of the model, which it is not.
fn item_of(nested: &NestedTool, call: &ToolCall) -> ResponseItem {
    let (name, call_id) = (nested.name.clone(), call.id.clone());
    match &call.payload {
        ToolPayload::Custom(input) => ResponseItem::CustomToolCall {
            id: None,
            status: None,
            call_id,
            name,
            input: input.clone(),
        },
        ToolPayload::Function(arguments) => ResponseItem::FunctionCall {
            id: None,
            name,
            namespace: nested.namespace.clone(),
            arguments: arguments.clone(),
            call_id,
        },
        ToolPayload::LocalShell(_) | ToolPayload::ToolSearch(_) => ResponseItem::Other(Value::Null),
    }
}

/// The value of an output without one of its own: what is JSON by design, else the text.
fn value_of(tool: &str, output: FunctionCallOutputBody) -> Value {
    let text = match output {
        FunctionCallOutputBody::Text(text) => text.as_str().into_owned(),
        FunctionCallOutputBody::Content(items) => {
            let texts = items.into_iter().map(|item| match item {
                FunctionCallOutputContentItem::InputText { text } => text,
                FunctionCallOutputContentItem::InputImage { image_url, .. } => image_url,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    };
    match tool {
        "spawn_agent"
        | "send_input"
        | "resume_agent"
        | "wait_agent"
        | "close_agent"
        | "spawn_agents_on_csv"
        | "report_agent_job_result" => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        _ => Value::String(text),
    }
}
