//! Serves many clients over websockets.
//!
//! Threads do not end with the client that started them. The first signal waits for running turns and continues to
//! serve clients; then threads and connections are closed. A second signal ends the process at once.

use std::io::{self, Cursor};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use codex_system::signals::Signals;
use tokio::io::{AsyncReadExt, BufReader};
use tokio::task::JoinSet;

use super::admission::Admission;
use super::auth::Auth;
use super::listening_socket::{ByteStream, Listen, ListeningSocket};
use super::peer::Peer;
use super::websocket::{self, ControlQueue, WebSocketReader};
use super::{ConnectedClient, LAST_WORDS, MessageHandler, Service, end_work, http};
use crate::outbox::Limits;

/// The limit of connected clients; further ones are disconnected.
const CLIENTS: usize = 1024;

/// The time limit for the upgrade.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The pause after a failed accept, for example without free descriptors.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// A bound listener.
#[derive(Debug)]
pub struct Listener {
    socket: ListeningSocket,
    auth: Option<Auth>,
    limit: usize,
    signals: Signals,
}

impl Listener {
    /// Binds an address for clients that pass `auth`. `limit` is the longest message.
    ///
    /// # Errors
    /// The address cannot be bound, or signals cannot be handled.
    pub async fn bind(listen: &Listen, auth: Option<Auth>, limit: usize) -> io::Result<Self> {
        Ok(Self {
            signals: Signals::new()?,
            socket: ListeningSocket::bind(listen).await?,
            auth,
            limit,
        })
    }

    /// The TCP address, with the chosen port.
    #[must_use]
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        self.socket.tcp_address()
    }

    /// Serves clients until a signal arrives and the shutdown is complete.
    pub async fn serve(self, service: Arc<impl Service>) {
        let admission = Admission::new(self.auth);
        let mut clients = JoinSet::new();
        let drained = async {
            self.signals.first().await;
            service.until_idle().await;
        };
        tokio::pin!(drained);
        loop {
            tokio::select! {
                accepted = self.socket.accept() => match accepted {
                    Ok(_) if clients.len() >= CLIENTS => tracing::warn!("too many clients"),
                    Ok(client) => {
                        let (service, admission) = (Arc::clone(&service), admission.clone());
                        clients.spawn(serve_client(service, client, admission, self.limit));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a client could not be accepted");
                        tokio::time::sleep(RETRY_DELAY).await;
                    }
                },
                Some(_) = clients.join_next() => {}
                () = &mut drained => break,
            }
        }
        drop(self.socket);
        end_work(&*service).await;
        service.close_connections();
        let gone = async { while clients.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_WORDS, gone).await;
    }
}

/// Serves one client.
async fn serve_client(
    service: Arc<impl Service>,
    (stream, peer): (Box<dyn ByteStream>, Peer),
    admission: Admission,
    limit: usize,
) {
    let upgrade = http::upgrade(stream, &admission, peer);
    let (stream, begun) = match tokio::time::timeout(HANDSHAKE, upgrade).await {
        Ok(Ok(Some(upgraded))) => upgraded,
        Ok(Ok(None)) => return,
        Ok(Err(error)) => return tracing::debug!(%error, "a client did not connect"),
        Err(_) => return tracing::debug!("a client did not connect in time"),
    };
    let (input, output) = tokio::io::split(stream);
    let input = BufReader::with_capacity(16 * 1024, Cursor::new(begun).chain(input));
    let ConnectedClient {
        id,
        mut session,
        outbox,
    } = Arc::clone(&service).connect(Limits::ONE_OF_MANY);
    let control = ControlQueue::default();
    let reading = async {
        let mut reader = WebSocketReader::new(input, limit);
        loop {
            match reader.next(&control).await {
                Ok(message) => session.take(message).await,
                Err(broken) => {
                    tracing::debug!(%broken, "nothing more is read from a client");
                    control.set_close_reason(&broken);
                    break;
                }
            }
        }
    };
    let writing = async {
        tokio::select! {
            written = websocket::write(output, &outbox, &control) => {
                if let Err(error) = written {
                    tracing::debug!(%error, "nothing more can be written to a client");
                }
            }
            () = outbox.until_cut_off() => {}
        }
    };
    tokio::pin!(writing);
    let is_written = tokio::select! {
        () = reading => false,
        () = &mut writing => true,
        () = control.until_silent() => {
            tracing::debug!("a client gives no sign of life");
            outbox.cut_off();
            true
        }
    };
    service.disconnect(id).await;
    if !is_written {
        let _ = tokio::time::timeout(LAST_WORDS, writing).await;
    }
}
