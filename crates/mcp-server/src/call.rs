//! The lifecycle of a call: a thread is started or resumed and runs one turn, whose end is the reply to the call.

use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use codex_app_server_protocol::v2::{ThreadItem, ThreadStartResponse, Turn, TurnStatus};
use codex_app_server_protocol::{ServerNotification, ServerRequest};
use codex_client::ClientError;
use codex_json_rpc::{Error, JsonRpcId};
use codex_protocol::Event;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::active_call::{ActiveCall, CallReply, ToolCallRequest};
use crate::revision::Rules;
use crate::server::McpAdapter;
use crate::tools::{ReplyParams, StartParams};
use crate::{approval, events, tools};

/// How long a call waits for answers of the client. Unanswered questions are refused then.
const ANSWER_LIMIT: Duration = Duration::from_hours(1);

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
        Err(refusal) => refuse(&server, request, refusal).await,
    }
}

async fn refuse(server: &McpAdapter, request: ToolCallRequest, refusal: CallError) {
    let result = tools::result(None, &refusal.message(), true);
    respond(server, CallReply { request, result }).await;
}

async fn respond(server: &McpAdapter, reply: CallReply) {
    let CallReply { request, result } = reply;
    let result = request.rules.complete(result, &server.info());
    request.responder.respond(Ok::<_, Error>(result)).await;
}

/// Goes on with a call that waits for answers, which a request brings.
pub(crate) async fn resume(
    server: Arc<McpAdapter>,
    request: ToolCallRequest,
    thread: String,
    answers: Map<String, Value>,
) {
    let reply = {
        let mut state = server.state();
        match state
            .calls
            .get_mut(&thread)
            .filter(|call| call.is_waiting())
        {
            Some(call) => {
                let reply = call.resume(&thread, request, &answers);
                if call.is_over() {
                    state.calls.remove(&thread);
                }
                reply
            }
            None => {
                let message = "no call waits for answers with this `requestState`";
                let error = Error::invalid_params(message);
                tokio::spawn(request.responder.respond(Err::<(), _>(error)));
                None
            }
        }
    };
    if let Some(reply) = reply {
        respond(&server, reply).await;
    }
}

fn read<T: for<'de> Deserialize<'de>>(arguments: Option<&RawValue>) -> Result<T, CallError> {
    let arguments = arguments.map_or("{}", RawValue::get);
    serde_json::from_str(arguments)
        .map_err(|error| CallError::Arguments(format!("the arguments cannot be read: {error}")))
}

/// Whether events are sent for a request. Without a handshake there are none.
fn has_events(reads_events: bool, request: &ToolCallRequest) -> bool {
    reads_events && request.rules == Rules::Handshake
}

async fn start_thread(
    server: &McpAdapter,
    request: &ToolCallRequest,
    arguments: Option<&RawValue>,
) -> Result<PlannedTurn, CallError> {
    let params: StartParams = read(arguments)?;
    let started = server.engine.call("thread/start", &params.thread()).await?;
    let started: ThreadStartResponse = serde_json::from_value(started)
        .map_err(|error| CallError::Arguments(format!("the thread cannot be read: {error}")))?;
    let thread = started.thread.id.clone();
    let reads_events = server.state().reads_events;
    if has_events(reads_events, request)
        && let Some(event) = events::configured(&started)
    {
        send_event(server, request.responder.id(), &thread, &event).await;
    }
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
                vacant.insert(ActiveCall::new(request));
                None
            }
        }
    };
    if let Some(request) = busy {
        let message = format!("another call to thread {thread} is running");
        return refuse(server, request, CallError::Arguments(message)).await;
    }
    let input = [json!({ "type": "text", "text": prompt })];
    let params = json!({ "threadId": thread, "input": input });
    if let Err(error) = server.engine.call("turn/start", &params).await {
        let call = server.state().calls.remove(&thread);
        if let Some(request) = call.and_then(ActiveCall::into_request) {
            refuse(server, request, error.into()).await;
        }
    }
}

/// Cancels a call. One whose turn has not started is interrupted when it does.
pub(crate) fn cancel(server: &Arc<McpAdapter>, id: &JsonRpcId) {
    server.peer.cancel(id);
    let thread = {
        let state = server.state();
        let mut calls = state.calls.iter();
        let found = calls.find(|(_, call)| call.has(id));
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
    if let Some(effects) = update(server, thread, notification) {
        send(server, effects, thread, notification).await;
    }
    match notification {
        ServerNotification::TurnStarted(it) => {
            let call_is_cancelled = {
                let state = server.state();
                let call = state.calls.get(&it.thread_id);
                let request = call.and_then(ActiveCall::request);
                request.is_some_and(|request| request.responder.is_cancelled())
            };
            if call_is_cancelled {
                interrupt(server, it.thread_id.clone());
            }
        }
        ServerNotification::TurnCompleted(it) => end(server, &it.thread_id, &it.turn).await,
        _ => {}
    }
}

/// What the client of a call is told about a notification.
struct CallEffects {
    /// The events, and the request to name in them; none if the client does not know events.
    events: Option<(JsonRpcId, Vec<Event>)>,
    /// The token and number of a progress notification.
    progress: Option<(Value, u64)>,
}

/// Updates the state of a call.
fn update(
    server: &McpAdapter,
    thread: &str,
    notification: &ServerNotification,
) -> Option<CallEffects> {
    let mut state = server.state();
    let reads_events = state.reads_events;
    let call = state.calls.get_mut(thread)?;
    if let ServerNotification::ItemCompleted(it) = notification
        && let ThreadItem::AgentMessage { text, .. } = &it.item.item
    {
        call.last_message = text.as_str().into_owned();
    }
    if let ServerNotification::ItemStarted(it) = notification
        && let ThreadItem::FileChange { id, changes, .. } = &it.item.item
    {
        call.begin_patch(&it.turn_id, id, changes);
    }
    let patch_begin = match notification {
        ServerNotification::ItemCompleted(it) => match &it.item.item {
            ThreadItem::FileChange { id, .. } => call.patch_ended(id),
            _ => None,
        },
        _ => None,
    };
    let request = call.request();
    let event_request = request.filter(|request| has_events(reads_events, request));
    let event_request = event_request.map(|request| request.responder.id().clone());
    let event = events::event(notification, &call.last_message);
    let events = patch_begin.into_iter().chain(event).collect();
    let progress = events::step(notification).and_then(|_| call.next_step());
    Some(CallEffects {
        events: event_request.map(|id| (id, events)),
        progress,
    })
}

async fn send(
    server: &McpAdapter,
    effects: CallEffects,
    thread: &str,
    notification: &ServerNotification,
) {
    if let (Some((token, step)), Some(message)) = (effects.progress, events::step(notification)) {
        let params = json!({ "progressToken": token, "progress": step, "message": message });
        server.peer.notify("notifications/progress", params).await;
    }
    let Some((id, events)) = effects.events else {
        return;
    };
    for event in events {
        send_event(server, &id, thread, &event).await;
    }
}

async fn send_event(server: &McpAdapter, id: &JsonRpcId, thread: &str, event: &Event) {
    let meta = json!({ "requestId": id, "threadId": thread });
    let params = json!({ "_meta": meta, "id": event.id, "msg": event.msg });
    server.peer.notify(events::METHOD, params).await;
}

/// Replies to the call whose turn has ended.
async fn end(server: &McpAdapter, thread: &str, turn: &Turn) {
    let reply = {
        let mut state = server.state();
        let Some(call) = state.calls.get_mut(thread) else {
            return;
        };
        let result = result_of(thread, turn, &call.last_message);
        let reply = call.end(result);
        if call.is_over() {
            state.calls.remove(thread);
        }
        reply
    };
    if let Some(reply) = reply {
        respond(server, reply).await;
    }
}

fn result_of(thread: &str, turn: &Turn, last_message: &str) -> Value {
    let error = turn.error.as_ref().map(|error| error.message.as_str());
    let (text, is_error) = match turn.status {
        TurnStatus::Completed | TurnStatus::InProgress => (last_message, false),
        TurnStatus::Interrupted => (error.unwrap_or("the turn was interrupted"), true),
        TurnStatus::Failed => (error.unwrap_or("the turn failed"), true),
    };
    tools::result(Some(thread), text, is_error)
}

/// The answer to a request of the engine: the client decides about commands and patches, everything else is declined.
pub(crate) async fn answer(server: &McpAdapter, request: &ServerRequest) -> Option<Value> {
    let decided = match approval::thread_of(request) {
        Some(thread) => ask(server, thread, request).await,
        None => None,
    };
    approval::answer(request, decided.as_ref())
}

/// Asks the client, by a request or in the reply to its call. None without an answer.
async fn ask(server: &McpAdapter, thread: &str, request: &ServerRequest) -> Option<Value> {
    let (rules, form, id, events) = {
        let mut state = server.state();
        let reads_events = state.reads_events;
        let call = state.calls.get_mut(thread)?;
        let (rules, id) = match call.request() {
            Some(request) => (request.rules, request.responder.id().clone()),
            // Only clients without a handshake leave a call without an open request.
            None => (Rules::Stateless { can_elicit: true }, JsonRpcId::Null),
        };
        let changes = call.changes_of(request);
        let form = match rules {
            Rules::Handshake => approval::form(&id, request, &changes),
            Rules::Stateless { .. } => approval::plain_form(&id, request, &changes),
        };
        let begin = match request {
            ServerRequest::FileChangeRequestApproval(it) => call.patch_asked(&it.item_id),
            _ => None,
        };
        let question = form.as_ref().and(events::question(request, &changes));
        let events = begin.into_iter().chain(question);
        let events: Vec<_> = events.filter(|_| reads_events).collect();
        (rules, form, id, events)
    };
    match rules {
        Rules::Handshake => {
            for event in events {
                send_event(server, &id, thread, &event).await;
            }
            let form = form?;
            let can_elicit = server.state().can_elicit;
            let asked = server.peer.request::<Value>("elicitation/create", form);
            if can_elicit { asked.await.ok() } else { None }
        }
        Rules::Stateless { can_elicit: false } => None,
        Rules::Stateless { can_elicit: true } => {
            let form = form?;
            let (answered, reply) = {
                let mut state = server.state();
                state.calls.get_mut(thread)?.ask(thread, form)
            };
            if let Some(reply) = reply {
                respond(server, reply).await;
            }
            let answered = tokio::time::timeout(ANSWER_LIMIT, answered).await;
            answered.ok()?.ok()
        }
    }
}
