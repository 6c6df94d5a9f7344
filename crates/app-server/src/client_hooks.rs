//! Hooks that connected clients have registered, and the questions to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use codex_app_server_protocol::rpc::RequestId;
use codex_app_server_protocol::{ServerRequest, v2};
use codex_core::{ClientHook, ClientHookCall, ClientHookError, ClientHooks};
use codex_projection::wire_hook_event;
use codex_protocol::HookEventName;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;

use crate::connection::{Connection, ConnectionId};
use crate::open_requests::OpenRequests;

/// How many hooks a connection may register.
const MOST_OF_CONNECTION: usize = 100;

/// The hooks of all connections, in the order of their registration.
#[derive(Debug)]
pub(crate) struct ClientHookRegistry {
    requests: Arc<OpenRequests>,
    next: AtomicU64,
    registered: Mutex<Vec<RegisteredHook>>,
    /// The questions that are open, with the connections that have to answer them.
    open: Arc<Mutex<Vec<(i64, ConnectionId)>>>,
}

/// A hook of a connection.
#[derive(Debug)]
struct RegisteredHook {
    hook: ClientHook,
    event: HookEventName,
    /// The thread; none for all threads.
    thread: Option<String>,
    connection: Arc<Connection>,
}

/// A connection has registered too many hooks.
#[derive(Debug)]
pub(crate) struct TooManyHooks;

impl ClientHookRegistry {
    pub(crate) fn new(requests: Arc<OpenRequests>) -> Self {
        Self {
            requests,
            next: AtomicU64::new(1),
            registered: Mutex::default(),
            open: Arc::default(),
        }
    }

    /// Registers a hook and returns its id, which replaces the one in `hook`.
    pub(crate) fn register(
        &self,
        connection: Arc<Connection>,
        event: HookEventName,
        thread: Option<String>,
        hook: ClientHook,
    ) -> Result<String, TooManyHooks> {
        let mut registered = self.registered.lock();
        let of_connection = |one: &&RegisteredHook| one.connection.id() == connection.id();
        if registered.iter().filter(of_connection).count() >= MOST_OF_CONNECTION {
            return Err(TooManyHooks);
        }
        let id = format!("client-{}", self.next.fetch_add(1, Ordering::Relaxed));
        registered.push(RegisteredHook {
            hook: ClientHook {
                id: id.clone(),
                ..hook
            },
            event,
            thread,
            connection,
        });
        Ok(id)
    }

    /// Takes a registration of a connection back. False if it has none with this id.
    pub(crate) fn unregister(&self, connection: ConnectionId, id: &str) -> bool {
        let mut registered = self.registered.lock();
        let before = registered.len();
        registered.retain(|one| one.connection.id() != connection || one.hook.id != id);
        registered.len() < before
    }

    /// A connection is gone: it is asked no more, and what it was asked is not waited for.
    pub(crate) fn disconnect(&self, connection: ConnectionId) {
        self.registered
            .lock()
            .retain(|one| one.connection.id() != connection);
        for (number, asked) in self.open.lock().iter() {
            if *asked == connection {
                self.requests.forget(*number);
            }
        }
    }
}

impl ClientHooks for ClientHookRegistry {
    fn has_hooks(&self, thread: &str, event: HookEventName) -> bool {
        let registered = self.registered.lock();
        registered.iter().any(|one| one.is_for(thread, event))
    }

    fn hooks(&self, thread: &str, event: HookEventName) -> Vec<ClientHook> {
        let registered = self.registered.lock();
        let matching = registered.iter().filter(|one| one.is_for(thread, event));
        matching.map(|one| one.hook.clone()).collect()
    }

    fn call(&self, call: ClientHookCall) -> BoxFuture<'static, Result<Value, ClientHookError>> {
        let connection = {
            let registered = self.registered.lock();
            let found = registered.iter().find(|one| one.hook.id == call.hook);
            found.map(|one| Arc::clone(&one.connection))
        };
        let Some(connection) = connection else {
            return std::future::ready(Err(gone())).boxed();
        };
        let question = OpenQuestion::ask(self, &connection, call);
        question.answer().boxed()
    }
}

impl RegisteredHook {
    fn is_for(&self, thread: &str, event: HookEventName) -> bool {
        self.event == event && self.thread.as_deref().is_none_or(|own| own == thread)
    }
}

/// A question to a client. Dropping it withdraws it.
struct OpenQuestion {
    number: i64,
    answer: tokio::sync::oneshot::Receiver<crate::open_requests::ClientAnswer>,
    requests: Arc<OpenRequests>,
    open: Arc<Mutex<Vec<(i64, ConnectionId)>>>,
}

impl OpenQuestion {
    fn ask(registry: &ClientHookRegistry, connection: &Connection, call: ClientHookCall) -> Self {
        let (number, answer) = registry.requests.open(vec![connection.id()]);
        registry.open.lock().push((number, connection.id()));
        let question = ServerRequest::HookRun(v2::HookRunParams {
            hook_id: call.hook,
            thread_id: call.thread,
            turn_id: call.turn,
            event_name: wire_hook_event(call.event),
            input: call.input,
        });
        connection.ask(&RequestId::Integer(number), &question, connection.dialect());
        Self {
            number,
            answer,
            requests: Arc::clone(&registry.requests),
            open: Arc::clone(&registry.open),
        }
    }

    async fn answer(mut self) -> Result<Value, ClientHookError> {
        let answer = (&mut self.answer).await.map_err(|_| gone())?;
        let text = answer
            .map_err(|error| ClientHookError(format!("the client refused: {}", error.message)))?;
        let response: v2::HookRunResponse = serde_json::from_str(&text).map_err(|error| {
            ClientHookError(format!("the answer of the client cannot be read: {error}"))
        })?;
        Ok(response.output.unwrap_or_default())
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.requests.forget(self.number);
        self.open
            .lock()
            .retain(|(number, _)| *number != self.number);
    }
}

fn gone() -> ClientHookError {
    ClientHookError("the client has disconnected".to_owned())
}
