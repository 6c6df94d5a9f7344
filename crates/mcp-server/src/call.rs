//! The lifecycle of a call: a thread is started or resumed and runs one turn, whose end is the reply to the call.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use codex_app_server_protocol::v2::{ThreadItem, Turn, TurnStatus};
use codex_app_server_protocol::{ServerNotification, ServerRequest};
use codex_client::ClientError;
use codex_json_rpc::{Error, JsonRpcId, Responder};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::server::McpAdapter;
use crate::tools::{ReplyParams, StartParams};
use crate::{approval, events, tools};

/// A `tools/call` request.
#[derive(Debug)]
pub(crate) struct ToolCallRequest {
    pub(crate) responder: Responder,
    /// The token for progress notifications.
    pub(crate) progress: Option<Value>,
}

/// A call whose turn runs or is about to start.
#[derive(Debug)]
pub(crate) struct ActiveCall {
    request: ToolCallRequest,
    last_message: String,
    steps: u64,
}

/// Why a call failed before its turn started, for the model that made it.
enum CallError {
    Arguments(String),
    Engine(ClientError),
}

impl From<ClientError> for CallError {
    fn from(error: ClientError) -> Self {
        Self::Engine(error)
    }
}

impl CallError {
    fn message(self) -> String {
        match self {
            Self::Arguments(message) => message,
            Self::Engine(ClientError::Refused { error, .. }) => error.message,
            Self::Engine(error) => error.to_string(),
        }
    }
}

/// The thread and the prompt of a turn that is to be started.
struct PlannedTurn {
    thread: String,
    prompt: String,
}

/// Runs a call until its turn has started. The notifications of the turn do the rest.
pub(crate) async fn run(
    server: Arc<McpAdapter>,
    request: ToolCallRequest,
    name: String,
    arguments: Option<Box<RawValue>>,
) {
    let arguments = arguments.as_deref();
    let planned = match name.as_str() {
        "codex" => start_thread(&server, &request, arguments).await,
        "codex-reply" => resume_thread(&server, arguments).await,
        _ => Err(CallError::Arguments(format!("Unknown tool '{name}'"))),
    };
    match planned {
        Ok(planned) => start_turn(&server, request, planned).await,
        Err(refusal) => refuse(request, refusal).await,
    }
}

async fn refuse(request: ToolCallRequest, refusal: CallError) {
    let result = tools::result(None, &refusal.message(), true);
    request.responder.respond(Ok::<_, Error>(result)).await;
}

fn read<T: for<'de> Deserialize<'de>>(arguments: Option<&RawValue>) -> Result<T, CallError> {
    let arguments = arguments.map_or("{}", RawValue::get);
    serde_json::from_str(arguments)
        .map_err(|error| CallError::Arguments(format!("the arguments cannot be read: {error}")))
}

async fn start_thread(
    server: &McpAdapter,
    request: &ToolCallRequest,
    arguments: Option<&RawValue>,
) -> Result<PlannedTurn, CallError> {
    let params: StartParams = read(arguments)?;
    let started = server.engine.call("thread/start", &params.thread()).await?;
    let thread = started["thread"]["id"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let event = events::configured(&thread, &started);
    send_event(server, request.responder.id(), &thread, event).await;
    let prompt = params.prompt;
    Ok(PlannedTurn { thread, prompt })
}

async fn resume_thread(
    server: &McpAdapter,
    arguments: Option<&RawValue>,
) -> Result<PlannedTurn, CallError> {
    let params: ReplyParams = read(arguments)?;
    let missing =
        || CallError::Arguments("either threadId or conversationId must be provided".into());
    let thread = params.thread().ok_or_else(missing)?.to_owned();
    let resume = json!({ "threadId": thread, "excludeTurns": true });
    server.engine.call("thread/resume", &resume).await?;
    let prompt = params.prompt;
    Ok(PlannedTurn { thread, prompt })
}

async fn start_turn(server: &McpAdapter, request: ToolCallRequest, planned: PlannedTurn) {
    let PlannedTurn { thread, prompt } = planned;
    let busy = {
        let mut state = server.state();
        match state.calls.entry(thread.clone()) {
            Entry::Occupied(_) => Some(request),
            Entry::Vacant(vacant) => {
                vacant.insert(ActiveCall {
                    request,
                    last_message: String::new(),
                    steps: 0,
                });
                None
            }
        }
    };
    if let Some(request) = busy {
        let message = format!("another call to thread {thread} is running");
        return refuse(request, CallError::Arguments(message)).await;
    }
    let input = [json!({ "type": "text", "text": prompt })];
    let params = json!({ "threadId": thread, "input": input });
    if let Err(error) = server.engine.call("turn/start", &params).await {
        let call = server.state().calls.remove(&thread);
        if let Some(call) = call {
            refuse(call.request, error.into()).await;
        }
    }
}

/// Cancels a call. One whose turn has not started is interrupted when it does.
pub(crate) fn cancel(server: &Arc<McpAdapter>, id: &JsonRpcId) {
    server.peer.cancel(id);
    let thread = {
        let state = server.state();
        let mut calls = state.calls.iter();
        let found = calls.find(|(_, call)| call.request.responder.id() == id);
        found.map(|(thread, _)| thread.clone())
    };
    if let Some(thread) = thread {
        interrupt(server, thread);
    }
}

fn interrupt(server: &Arc<McpAdapter>, thread: String) {
    let engine = server.engine.clone();
    tokio::spawn(async move {
        let params = json!({ "threadId": thread, "turnId": "" });
        // An error means that no turn runs, which is fine.
        let _ = engine.call("turn/interrupt", &params).await;
    });
}

/// Handles a notification of the engine.
pub(crate) async fn notified(server: &Arc<McpAdapter>, notification: &ServerNotification) {
    let Some(thread) = notification.thread_id() else {
        return;
    };
    if let Some((id, progress)) = update(server, thread, notification) {
        send(server, &id, progress, thread, notification).await;
    }
    match notification {
        ServerNotification::TurnStarted(it) => {
            let call_is_cancelled = {
                let state = server.state();
                let call = state.calls.get(&it.thread_id);
                call.is_some_and(|call| call.request.responder.is_cancelled())
            };
            if call_is_cancelled {
                interrupt(server, it.thread_id.clone());
            }
        }
        ServerNotification::TurnCompleted(it) => end(server, &it.thread_id, &it.turn).await,
        _ => {}
    }
}

/// A progress notification.
struct Progress {
    token: Value,
    step: u64,
}

/// Updates the state of a call, and returns the id of its request.
fn update(
    server: &McpAdapter,
    thread: &str,
    notification: &ServerNotification,
) -> Option<(JsonRpcId, Option<Progress>)> {
    let mut state = server.state();
    let call = state.calls.get_mut(thread)?;
    if let ServerNotification::ItemCompleted(it) = notification
        && let ThreadItem::AgentMessage { text, .. } = &it.item.item
    {
        call.last_message = text.as_str().into_owned();
    }
    let mut progress = None;
    if events::step(notification).is_some()
        && let Some(token) = &call.request.progress
    {
        call.steps += 1;
        progress = Some(Progress {
            token: token.clone(),
            step: call.steps,
        });
    }
    Some((call.request.responder.id().clone(), progress))
}

async fn send(
    server: &McpAdapter,
    id: &JsonRpcId,
    progress: Option<Progress>,
    thread: &str,
    notification: &ServerNotification,
) {
    if let (Some(progress), Some(message)) = (progress, events::step(notification)) {
        let Progress { token, step } = progress;
        let params = json!({ "progressToken": token, "progress": step, "message": message });
        server.peer.notify("notifications/progress", params).await;
    }
    if let Some(event) = events::event(notification) {
        send_event(server, id, thread, event).await;
    }
}

async fn send_event(server: &McpAdapter, id: &JsonRpcId, thread: &str, mut event: Value) {
    event["_meta"] = json!({ "requestId": id, "threadId": thread });
    server.peer.notify("codex/event", event).await;
}

/// Replies to the call whose turn has ended.
async fn end(server: &McpAdapter, thread: &str, turn: &Turn) {
    let call = server.state().calls.remove(thread);
    let Some(call) = call else { return };
    let error = turn.error.as_ref().map(|error| error.message.as_str());
    let (text, is_error) = match turn.status {
        TurnStatus::Completed | TurnStatus::InProgress => (call.last_message.as_str(), false),
        TurnStatus::Interrupted => (error.unwrap_or("the turn was interrupted"), true),
        TurnStatus::Failed => (error.unwrap_or("the turn failed"), true),
    };
    let result = tools::result(Some(thread), text, is_error);
    call.request.responder.respond(Ok::<_, Error>(result)).await;
}

/// The answer to a request of the engine: the client decides about commands and patches, everything else is declined.
pub(crate) async fn answer(server: &McpAdapter, request: &ServerRequest) -> Option<Value> {
    let call = approval::thread_of(request).and_then(|thread| {
        let state = server.state();
        let call = state.calls.get(thread)?;
        let id = call.request.responder.id().clone();
        state.has_elicitation.then_some(id)
    });
    let form = call.and_then(|id| approval::form(&id, request));
    let decided = match form {
        Some(form) => {
            let asked = server.peer.request::<Value>("elicitation/create", form);
            asked.await.ok()
        }
        None => None,
    };
    approval::answer(request, decided.as_ref())
}
