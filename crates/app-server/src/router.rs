//! Reads messages of a client and dispatches requests to their handlers.
//!
//! Every request gets exactly one reply: invalid requests are refused here, and if a handler does not reply, its
//! [`Responder`](crate::connection::Responder) does so when it is dropped. Each request runs in a task of its own, so
//! a slow one delays no other, in the order that its row of the [table](crate::handlers) names.

mod named_paths;
mod unknown_filters;

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;

use codex_app_server_protocol::rpc::{self, Message, RequestId};
use codex_app_server_protocol::{ClientRequest, MessageReadError};
use codex_protocol::Experimental;
use codex_transport::InputLine;
use futures::FutureExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::Instrument;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::handlers::{self, Order, RequestContext};
use crate::open_requests::ClientAnswer;
use crate::ordering::{RequestOrder, with_settings_of};
use crate::server::AppServer;

/// The limit of running requests per connection.
const IN_FLIGHT: usize = 256;

/// Handles the messages of one client.
#[derive(Debug)]
pub struct Router {
    server: Arc<AppServer>,
    connection: Arc<Connection>,
    permits: Arc<Semaphore>,
    order: RequestOrder,
}

impl Router {
    pub(crate) fn new(server: Arc<AppServer>, connection: Arc<Connection>) -> Self {
        Self {
            server,
            connection,
            permits: Arc::new(Semaphore::new(IN_FLIGHT)),
            order: RequestOrder::default(),
        }
    }

    /// Handles a message. Waits first if the client does not read its replies.
    pub(crate) async fn take(&mut self, message: InputLine) {
        self.connection.outbox().takes_requests().await;
        let line = match message {
            InputLine::Whole(line) => line,
            InputLine::TooLong => {
                let failure = Failure::unreadable("the message is too long");
                return self.connection.refuse(None, failure);
            }
        };
        if line.trim_ascii().is_empty() {
            return;
        }
        match serde_json::from_slice::<Message<'_>>(&line) {
            Ok(Message::Request(request)) => self.request(request).await,
            Ok(Message::Notification(notification)) => {
                tracing::debug!(method = %notification.method, "a notification of the client");
            }
            Ok(Message::Response(response)) => {
                let result = response.result.get().to_owned();
                self.answer(&response.id, Ok(result)).await;
            }
            Ok(Message::Error(error)) => {
                if let Some(id) = error.id {
                    self.answer(&id, Err(error.error)).await;
                }
            }
            Err(error) => self.refuse_unreadable(&line, &error),
        }
    }

    /// The input has ended: what the client has asked of its threads is still done.
    pub(crate) async fn finish(&mut self) {
        self.order.complete().await;
    }

    /// Refuses an invalid message, with its id if that is readable.
    fn refuse_unreadable(&self, line: &[u8], error: &serde_json::Error) {
        let json = serde_json::from_slice::<serde_json::Value>(line);
        let failure = match &json {
            Ok(_) => Failure::invalid(format!("Invalid request: {error}")),
            Err(error) => Failure::unreadable(format!("Parse error: {error}")),
        };
        let id = json.ok().and_then(|json| {
            let id = json.get("id")?.clone();
            serde_json::from_value::<RequestId>(id).ok()
        });
        self.connection.refuse(id, failure);
    }

    async fn answer(&self, id: &RequestId, answer: ClientAnswer) {
        let RequestId::Integer(number) = *id else {
            return tracing::warn!(%id, "an answer to a request that was never sent");
        };
        let from = self.connection.id();
        let Err(answer) = self.server.own_requests().answer(from, number, answer) else {
            return;
        };
        match self.server.question(number) {
            // The thread knows whom it has asked.
            Some(thread) => {
                let answer = thread.send(move |it| it.answer(from, number, answer.ok()).boxed());
                answer.await;
            }
            None => tracing::debug!(number, from, "an answer to no open request"),
        }
    }

    async fn request(&mut self, request: rpc::Request<'_>) {
        let id = request.id.clone();
        match self.admit(request) {
            Ok(admitted) => self.dispatch(id, admitted).await,
            Err(failure) => self.connection.refuse(Some(id), failure),
        }
    }

    /// Checks a request before its handler runs.
    fn admit(&self, request: rpc::Request<'_>) -> Result<Admitted, Failure> {
        let (method, params) = (&*request.method, request.params);
        let read = ClientRequest::read(method, params);
        let request = read.map_err(|error| match error {
            MessageReadError::UnknownMethod { method } => Failure::unknown_method(&method),
            error => Failure::invalid(format!("Invalid request: {error}")),
        })?;
        let is_handshake = matches!(request, ClientRequest::Initialize(_));
        match self.connection.client() {
            None if !is_handshake => return Err(Failure::invalid("Not initialized")),
            Some(_) if is_handshake => return Err(Failure::invalid("Already initialized")),
            Some(client) if !client.experimental => {
                if let Some(what) = request.experimental_use() {
                    let message = format!("{what} requires experimentalApi capability");
                    return Err(Failure::invalid(message));
                }
            }
            _ => {}
        }
        unknown_filters::check(method, params)?;
        self.connection.recognise(&request, params);
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| Failure::overloaded())?;
        let paths = named_paths::doubtful_paths(method, params);
        Ok(Admitted {
            request,
            permit,
            paths,
        })
    }

    async fn dispatch(&mut self, id: RequestId, admitted: Admitted) {
        let Admitted {
            request,
            permit,
            paths,
        } = admitted;
        let order = handlers::order_of(&request);
        let search = handlers::register_search(&request, &self.connection, &id);
        let call = RequestContext {
            server: Arc::clone(&self.server),
            connection: Arc::clone(&self.connection),
        };
        let span = tracing::debug_span!("request", method = request.method(), %id);
        // If the handler panics, its responder replies, and nothing else is affected.
        let handling = handlers::handle(request, call, id.clone()).instrument(span);
        let mut handling = AssertUnwindSafe(handling).catch_unwind();
        let slot = match order {
            Order::AtOnce(uses) => {
                if !uses.is_empty() {
                    self.order.writers_of(&uses).await;
                }
                if paths.is_empty() && futures::poll!(&mut handling).is_ready() {
                    return;
                }
                None
            }
            Order::After(uses) => {
                let home = self.server.host().store().home();
                self.order.enter(with_settings_of(home, uses))
            }
        };
        let running = self.server.count_request();
        let waiting = self.server.count_waiting_request();
        let connection = Arc::clone(&self.connection);
        tokio::spawn(async move {
            let _permit = permit;
            let _search = search;
            let _running = running;
            let _slot = match slot {
                Some(slot) => Some(slot.wait().await),
                None => None,
            };
            drop(waiting);
            if let Err(error) = codex_mounts::check_all(paths).await {
                return connection.refuse(Some(id), Failure::invalid(error.to_string()));
            }
            let _ = handling.await;
        });
    }
}

struct Admitted {
    request: ClientRequest,
    permit: OwnedSemaphorePermit,
    /// The paths that are tried before the handler runs.
    paths: Vec<PathBuf>,
}

#[cfg(test)]
mod tests;
