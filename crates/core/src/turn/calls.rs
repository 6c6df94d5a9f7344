//! The tool calls of one response. A call runs from the moment it is complete in the stream. The outputs are
//! recorded in the order of the calls.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use codex_protocol::{
    FunctionCallOutputBody, FunctionCallOutputContentItem, ResponseItem, TurnAbortReason,
};
use codex_session_base::history::truncate::tokens_of;
use codex_tools::{ToolCall, ToolFailure, ToolPayload, ToolResult, is_console, manages_agents};
use futures::future::BoxFuture;
use futures::stream::FuturesOrdered;
use futures::{FutureExt, StreamExt};
use tokio::sync::{Mutex, RwLock};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::call_hooks::{recorded_contexts, run_with_hooks};
use super::scope::TurnScope;

/// A call that has ended.
#[derive(Debug)]
pub(crate) struct FinishedCall {
    pub(crate) output: ResponseItem,
    /// What hooks add to the context.
    pub(crate) contexts: Vec<ResponseItem>,
}

/// The running calls of one response.
#[derive(Default)]
pub(crate) struct RunningCalls {
    running: FuturesOrdered<BoxFuture<'static, FinishedCall>>,
    finished: VecDeque<FinishedCall>,
    /// Parallel tools take it shared, the others exclusively, in order of arrival.
    exclusive: Arc<RwLock<()>>,
    /// Cancelled when the response has ended.
    response_ended: CancellationToken,
    /// Calls with the same id run one after the other, because approvals refer to the id.
    by_id: HashMap<String, Arc<Mutex<()>>>,
}

impl RunningCalls {
    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.finished.is_empty()
    }

    pub(crate) fn start(&mut self, scope: &TurnScope, call: ToolCall, item: ResponseItem) {
        let (scope, exclusive) = (scope.clone(), Arc::clone(&self.exclusive));
        let response_ended = self.response_ended.clone();
        let others = Arc::clone(self.by_id.entry(call.id.clone()).or_default());
        let span = tracing::debug_span!("tool", name = call.name, call_id = call.id);
        let running = async move {
            let _after_others = others.lock().await;
            run(&scope, &call, item, &exclusive, response_ended).await
        };
        self.running.push_back(Box::pin(running.instrument(span)));
    }

    /// Drives the calls. Never ends while none runs.
    pub(crate) async fn drive(&mut self) {
        match self.running.next().await {
            Some(output) => self.finished.push_back(output),
            None => std::future::pending().await,
        }
    }

    /// Cancelled when the response has ended.
    pub(super) fn until_response_ended(&self) -> CancellationToken {
        self.response_ended.clone()
    }

    /// The response has ended.
    pub(crate) fn response_ended(&self) {
        self.response_ended.cancel();
    }

    /// Waits for the next call in order. None after the last.
    pub(crate) async fn next(&mut self) -> Option<FinishedCall> {
        match self.finished.pop_front() {
            Some(finished) => Some(finished),
            None => self.running.next().await,
        }
    }
}

/// Runs one call. It always has an output.
async fn run(
    scope: &TurnScope,
    call: &ToolCall,
    item: ResponseItem,
    exclusive: &RwLock<()>,
    response_ended: CancellationToken,
) -> FinishedCall {
    let mut contexts = Vec::new();
    let output = output_of(scope, call, item, exclusive, response_ended, &mut contexts).await;
    FinishedCall { output, contexts }
}

async fn output_of(
    scope: &TurnScope,
    call: &ToolCall,
    item: ResponseItem,
    exclusive: &RwLock<()>,
    response_ended: CancellationToken,
    contexts: &mut Vec<ResponseItem>,
) -> ResponseItem {
    let started = scope.session.clock.elapsed();
    let ran = tokio::select! {
        biased;
        () = scope.stop.stopped() => Err(ToolFailure::Aborted),
        ran = AssertUnwindSafe(dispatch(scope, call, item, exclusive, response_ended, contexts)).catch_unwind() => {
            ran.unwrap_or_else(|_| Err(ToolFailure::Model(format!("tool {} crashed", call.name))))
        }
    };
    let took = scope.session.clock.elapsed().saturating_sub(started);
    let (output, error) = match ran {
        Ok(output) => (output, None),
        Err(ToolFailure::Model(text)) => (
            FunctionCallOutputBody::Text(text.clone().into()),
            Some(text),
        ),
        Err(ToolFailure::Aborted) => {
            scope.stop.stop(TurnAbortReason::Interrupted);
            scope.budget.add_call(&call.name, true, took, 0);
            let text = call.aborted(took, scope.stop.origin());
            return call.answer(FunctionCallOutputBody::Text(text.into()));
        }
    };
    let output_tokens = tokens_of(text_bytes(&output));
    scope
        .budget
        .add_call(&call.name, error.is_some(), took, output_tokens);
    tracing::debug!(failed = error.is_some(), "the tool has answered");
    let output = call.answer(output);
    if let Some(observer) = scope.session.emitter.observer() {
        observer.tool_ended(&scope.settings.id, &output, error.as_deref());
    }
    output
}

/// The length of the texts of an output.
fn text_bytes(output: &FunctionCallOutputBody) -> usize {
    match output {
        FunctionCallOutputBody::Text(text) => text.as_str().len(),
        FunctionCallOutputBody::Content(parts) => {
            let texts = parts.iter().map(|part| match part {
                FunctionCallOutputContentItem::InputText { text } => text.len(),
                _ => 0,
            });
            texts.sum()
        }
    }
}

async fn dispatch(
    scope: &TurnScope,
    call: &ToolCall,
    item: ResponseItem,
    exclusive: &RwLock<()>,
    response_ended: CancellationToken,
    contexts: &mut Vec<ResponseItem>,
) -> ToolResult {
    let notify_observer = || {
        if let Some(observer) = scope.session.emitter.observer() {
            observer.tool_dispatched(&scope.settings.id, &item);
        }
    };
    let replay = scope.session.config.services.replay.as_ref();
    if let Some(replay) = replay.filter(|replay| !replay.runs_tool(&call.name)) {
        if manages_agents(&call.name)
            && let Some(tool) = scope.tools.current().find(call)
        {
            let _alone = exclusive.write().await;
            notify_observer();
            let thread = scope.session.emitter.thread();
            replay.before_call(thread, &call.id).await;
            let _ = run_with_hooks(scope, tool.as_ref(), call, response_ended, contexts).await;
        } else {
            // The replay puts answers in order.
            notify_observer();
            contexts.extend(recorded_contexts(scope, call));
        }
        let answer = replay.answer(scope.session.emitter.thread(), &call.id);
        return answer
            .await
            .map_err(|failure| ToolFailure::Model(failure.0));
    }
    let console = scope.session.config.options.js_repl.as_ref();
    if console.is_some_and(|console| console.only) && !is_console(&call.name) {
        notify_observer();
        let advice =
            "direct tool calls are disabled; use js_repl and codex.tool(...) instead".to_owned();
        return Err(ToolFailure::Model(advice));
    }
    let tools = scope.tools.current();
    let Some(tool) = tools.find(call) else {
        notify_observer();
        let kind = match call.payload {
            ToolPayload::Custom(_) => "unsupported custom tool call",
            _ => "unsupported call",
        };
        return Err(ToolFailure::Model(format!("{kind}: {}", call.name)));
    };
    if tools.is_parallel(&call.name) {
        let _shared = exclusive.read().await;
        notify_observer();
        run_with_hooks(scope, tool.as_ref(), call, response_ended, contexts).await
    } else {
        let _alone = exclusive.write().await;
        notify_observer();
        run_with_hooks(scope, tool.as_ref(), call, response_ended, contexts).await
    }
}
