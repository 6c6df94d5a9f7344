//! The life of a call: a thread is started or gone on with, runs one turn, and the call is answered when that ends.

use std::sync::Arc;

use codex_app_server_protocol::rpc::RequestId as EngineRequestId;
use codex_app_server_protocol::v2::{ThreadItem, Turn, TurnStatus};
use codex_app_server_protocol::{ServerNotification, ServerRequest};
use codex_client::{ClientError, Events, Incoming};
use codex_json_rpc::{Error, RequestId, Responder};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::server::Server;
use crate::tools::{Begin, Reply};
use crate::{approval, events, tools};

/// A request for a call of a tool.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: RequestId,
    pub(crate) responder: Responder,
    /// By which the client wants to hear how far the call is.
    pub(crate) progress: Option<Value>,
}

/// A call whose turn runs, or is about to.
#[derive(Debug)]
pub(crate) struct Call {
    request: Request,
    last_message: String,
    steps: u64,
}

/// Why a call comes to nothing, for the model that made it.
enum Refusal {
    Arguments(String),
    Engine(ClientError),
}

impl From<ClientError> for Refusal {
    fn from(error: ClientError) -> Self {
        Self::Engine(error)
    }
}

/// Runs a call until its turn has begun; `follow` does the rest.
pub(crate) async fn run(
    server: Arc<Server>,
    request: Request,
    name: String,
    arguments: Option<Box<RawValue>>,
) {
    let id = request.id.clone();
    let mut request = Some(request);
    let arguments = arguments.as_deref();
    let begun = match name.as_str() {
        "codex" => begin(&server, &mut request, arguments).await,
        "codex-reply" => reply(&server, &mut request, arguments).await,
        _ => Err(Refusal::Arguments(format!("Unknown tool '{name}'"))),
    };
    let Err(refusal) = begun else { return };
    let message = match refusal {
        Refusal::Arguments(message) => message,
        Refusal::Engine(ClientError::Refused { error, .. }) => error.message,
        Refusal::Engine(error) => error.to_string(),
    };
    // It waits here, or, once its thread is known, with the calls that run.
    let request = request.or_else(|| {
        let mut shared = server.shared();
        let mut calls = shared.calls.iter();
        let thread = calls.find(|(_, call)| call.request.id == id)?.0.clone();
        shared.calls.remove(&thread).map(|call| call.request)
    });
    if let Some(request) = request {
        let result = tools::result(None, &message, true);
        request.responder.respond(Ok::<_, Error>(result)).await;
    }
}

fn read<T: for<'de> Deserialize<'de>>(arguments: Option<&RawValue>) -> Result<T, Refusal> {
    let arguments = arguments.map_or("{}", RawValue::get);
    serde_json::from_str(arguments)
        .map_err(|error| Refusal::Arguments(format!("the arguments cannot be read: {error}")))
}

async fn begin(
    server: &Arc<Server>,
    request: &mut Option<Request>,
    arguments: Option<&RawValue>,
) -> Result<(), Refusal> {
    let begin: Begin = read(arguments)?;
    let started = server.engine.call("thread/start", &begin.thread()).await?;
    let thread = started["thread"]["id"].as_str().unwrap_or_default();
    tell_configured(server, request.as_ref(), thread, &started).await;
    turn(server, request, thread, &begin.prompt).await
}

async fn reply(
    server: &Arc<Server>,
    request: &mut Option<Request>,
    arguments: Option<&RawValue>,
) -> Result<(), Refusal> {
    let reply: Reply = read(arguments)?;
    let missing =
        || Refusal::Arguments("either threadId or conversationId must be provided".into());
    let thread = reply.thread().ok_or_else(missing)?;
    let params = json!({ "threadId": thread, "excludeTurns": true });
    server.engine.call("thread/resume", &params).await?;
    turn(server, request, thread, &reply.prompt).await
}

async fn turn(
    server: &Arc<Server>,
    request: &mut Option<Request>,
    thread: &str,
    prompt: &str,
) -> Result<(), Refusal> {
    {
        let mut shared = server.shared();
        if shared.calls.contains_key(thread) {
            let busy = format!("another call to thread {thread} is running");
            return Err(Refusal::Arguments(busy));
        }
        let Some(request) = request.take() else {
            return Ok(());
        };
        let call = Call {
            request,
            last_message: String::new(),
            steps: 0,
        };
        shared.calls.insert(thread.to_owned(), call);
    }
    let input = [json!({ "type": "text", "text": prompt })];
    let params = json!({ "threadId": thread, "input": input });
    server.engine.call("turn/start", &params).await?;
    Ok(())
}

/// Cancels a call. One whose turn has not begun is interrupted as it begins.
pub(crate) fn cancel(server: &Arc<Server>, id: &RequestId) {
    let thread = {
        let mut shared = server.shared();
        shared.cancelled.push(id.clone());
        let mut calls = shared.calls.iter();
        let found = calls.find(|(_, call)| call.request.id == *id);
        found.map(|(thread, _)| thread.clone())
    };
    if let Some(thread) = thread {
        interrupt(server, thread);
    }
}

fn interrupt(server: &Arc<Server>, thread: String) {
    let engine = server.engine.clone();
    tokio::spawn(async move {
        let params = json!({ "threadId": thread, "turnId": "" });
        // That nothing runs any more is as good.
        let _ = engine.call("turn/interrupt", &params).await;
    });
}

/// Passes on what the engine says until it goes away.
pub(crate) async fn follow(server: &Arc<Server>, mut incoming: Events) {
    loop {
        match incoming.next().await {
            Ok(Incoming::Notification(notification)) => hear(server, &notification).await,
            Ok(Incoming::Question(id, question)) => {
                let asking = tokio::spawn(answer(Arc::clone(server), id.clone(), question));
                server.shared().questions.insert(id, asking.abort_handle());
            }
            Ok(Incoming::Unknown(_)) => {}
            Err(_) => return,
        }
    }
}

async fn hear(server: &Arc<Server>, notification: &ServerNotification) {
    if let ServerNotification::ServerRequestResolved(it) = notification {
        let asking = server.shared().questions.remove(&it.request_id);
        if let Some(asking) = asking {
            asking.abort();
        }
    }
    let Some(thread) = events::thread_of(notification) else {
        return;
    };
    if let Some((id, progress)) = note(server, thread, notification) {
        tell(server, &id, progress, thread, notification).await;
    }
    match notification {
        ServerNotification::TurnStarted(it) => {
            let shared = server.shared();
            let call = shared.calls.get(&it.thread_id);
            if call.is_some_and(|call| shared.cancelled.contains(&call.request.id)) {
                interrupt(server, it.thread_id.clone());
            }
        }
        ServerNotification::TurnCompleted(it) => end(server, &it.thread_id, &it.turn).await,
        _ => {}
    }
}

/// What the client hears of how far a call is.
struct Progress {
    token: Value,
    step: u64,
}

/// Keeps what a call needs at its end; tells the request of the call.
fn note(
    server: &Server,
    thread: &str,
    notification: &ServerNotification,
) -> Option<(RequestId, Option<Progress>)> {
    let mut shared = server.shared();
    let call = shared.calls.get_mut(thread)?;
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
    Some((call.request.id.clone(), progress))
}

async fn tell(
    server: &Server,
    id: &RequestId,
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
        tell_event(server, id, thread, event).await;
    }
}

async fn tell_event(server: &Server, id: &RequestId, thread: &str, mut event: Value) {
    event["_meta"] = json!({ "requestId": id, "threadId": thread });
    server.peer.notify("codex/event", event).await;
}

async fn tell_configured(
    server: &Server,
    request: Option<&Request>,
    thread: &str,
    started: &Value,
) {
    if let Some(request) = request {
        let event = events::configured(thread, started);
        tell_event(server, &request.id, thread, event).await;
    }
}

/// The end of a turn answers its call.
async fn end(server: &Server, thread: &str, turn: &Turn) {
    let call = {
        let mut shared = server.shared();
        let call = shared.calls.remove(thread);
        if let Some(call) = &call {
            shared.cancelled.retain(|id| *id != call.request.id);
        }
        call
    };
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

/// Answers a question of the engine: the client decides about commands and patches, everything else is declined.
async fn answer(server: Arc<Server>, id: EngineRequestId, question: Box<ServerRequest>) {
    let request = approval::thread_of(&question).and_then(|thread| {
        let shared = server.shared();
        let call = shared.calls.get(thread)?;
        Some((call.request.id.clone(), shared.asks_people))
    });
    let form = request
        .filter(|(_, asks_people)| *asks_people)
        .and_then(|(id, _)| approval::form(&id, &question));
    let decided = match form {
        Some(form) => server
            .peer
            .ask::<Value>("elicitation/create", form)
            .await
            .ok(),
        None => None,
    };
    let answered = match approval::answer(&question, decided.as_ref()) {
        Some(answer) => server.engine.answer(&id, &answer).await,
        None => server.engine.refuse(&id, question.method()).await,
    };
    if let Err(error) = answered {
        tracing::debug!(%error, "a question was answered that nobody asks any more");
    }
}
