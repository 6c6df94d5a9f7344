//! An open websocket between two requests.
//!
//! A task answers the pings of the server, asks for a sign of life, and closes the connection when the server does, when
//! the server does not answer, and when it was not used for long.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use codex_http::SocketMessage;
use parking_lot::Mutex;
use tokio::task::AbortHandle;

use super::connection::SocketConnection;
use crate::credential::Authorization;

/// The time between signs of life of an idle connection.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// How often a connection is asked for a sign of life before it is closed as unused, after ten minutes.
const MAX_PINGS: u32 = 10;

/// A connection without a request.
pub(super) struct IdleConnection {
    connection: Arc<Mutex<Option<SocketConnection>>>,
    keeper: AbortHandle,
}

impl IdleConnection {
    pub(super) fn new(connection: SocketConnection) -> Self {
        let connection = Arc::new(Mutex::new(Some(connection)));
        let task = tokio::spawn(keep_alive(Arc::clone(&connection)));
        Self {
            connection,
            keeper: task.abort_handle(),
        }
    }

    /// The connection, if it is still open and was opened with this login.
    pub(super) fn take(&self, authorization: &Authorization) -> Option<SocketConnection> {
        let connection = self.connection.lock().take()?;
        (connection.authorization == *authorization).then_some(connection)
    }
}

impl Drop for IdleConnection {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

/// Keeps an idle connection open while the server answers.
async fn keep_alive(slot: Arc<Mutex<Option<SocketConnection>>>) {
    for _ in 0..MAX_PINGS {
        if read_control(&slot).await.is_none() || !ping(&slot).await {
            break;
        }
        if read_control(&slot).await != Some(SignOfLife::Seen) {
            break;
        }
    }
    slot.lock().take();
}

#[derive(PartialEq, Eq)]
enum SignOfLife {
    Seen,
    None,
}

/// Reads control messages until the next ping is due. None if the connection cannot be used any more.
async fn read_control(slot: &Mutex<Option<SocketConnection>>) -> Option<SignOfLife> {
    let mut sign = SignOfLife::None;
    let ended = std::future::poll_fn(|context| {
        let mut slot = slot.lock();
        let Some(connection) = &mut *slot else {
            return Poll::Ready(());
        };
        loop {
            match connection.socket.poll_next(context) {
                Poll::Ready(Ok(SocketMessage::Control)) => sign = SignOfLife::Seen,
                Poll::Ready(Ok(SocketMessage::Text(text))) if is_about_account(&text) => {
                    sign = SignOfLife::Seen;
                }
                // Data that belongs to no request would be taken for the answer to the next one.
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    });
    let is_open = tokio::time::timeout(PING_INTERVAL, ended).await.is_err();
    is_open.then_some(sign)
}

/// Whether a message belongs to no response. The next response repeats what it says.
fn is_about_account(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type", borrow)]
        kind: std::borrow::Cow<'a, str>,
    }
    serde_json::from_str(text).is_ok_and(|Kind { kind }| kind.starts_with("codex."))
}

/// Sends a ping. The connection is only locked while it is polled, so that a request can take it at any time.
async fn ping(slot: &Mutex<Option<SocketConnection>>) -> bool {
    let sent = std::future::poll_fn(|context| {
        let mut slot = slot.lock();
        let Some(connection) = &mut *slot else {
            return Poll::Ready(false);
        };
        let ping = pin!(connection.socket.ping());
        // A ping that cannot be sent at once is as good as an unanswered one.
        match ping.poll(context) {
            Poll::Ready(sent) => Poll::Ready(sent.is_ok()),
            Poll::Pending => Poll::Ready(true),
        }
    });
    sent.await
}

#[cfg(test)]
mod tests {
    use super::*;
    use codex_http::{SentSecrets, WebSocket};
    use futures::{SinkExt, StreamExt};
    use reqwest::header::HeaderMap;
    use tokio::io::DuplexStream;
    use tokio_tungstenite::WebSocketStream;
    use tokio_tungstenite::tungstenite::Message;
    use tokio_tungstenite::tungstenite::protocol::Role;

    /// An idle connection, and its other end.
    async fn idle() -> (IdleConnection, WebSocketStream<DuplexStream>) {
        let (ours, theirs) = tokio::io::duplex(4096);
        let connection = SocketConnection {
            socket: WebSocket::serve(ours, bytes::Bytes::new(), 4096).await,
            authorization: Authorization::None,
            secrets: SentSecrets::from_headers(&HeaderMap::new()),
            server_model: None,
            facts: Default::default(),
            last: None,
        };
        let server = WebSocketStream::from_raw_socket(theirs, Role::Client, None).await;
        (IdleConnection::new(connection), server)
    }

    fn is_open(connection: &IdleConnection) -> bool {
        connection.connection.lock().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn answering_server_keeps_connection() {
        let (connection, mut server) = idle().await;
        // Reading answers the pings.
        tokio::spawn(async move { while server.next().await.is_some() {} });
        tokio::time::sleep(PING_INTERVAL * 2 * MAX_PINGS - Duration::from_secs(1)).await;
        assert!(is_open(&connection));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(!is_open(&connection));
    }

    #[tokio::test(start_paused = true)]
    async fn unanswered_ping_closes_connection() {
        let (connection, server) = idle().await;
        tokio::time::sleep(PING_INTERVAL * 2 - Duration::from_secs(1)).await;
        assert!(is_open(&connection));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(!is_open(&connection));
        drop(server);
    }

    #[tokio::test(start_paused = true)]
    async fn pings_are_answered_and_data_closes_connection() {
        let (connection, mut server) = idle().await;
        server.send(Message::Ping("a".into())).await.unwrap();
        let answer = server.next().await.unwrap().unwrap();
        assert_eq!(answer, Message::Pong("a".into()));
        assert!(is_open(&connection));
        server
            .send(Message::Text("unasked for".into()))
            .await
            .unwrap();
        assert!(server.next().await.is_none_or(|message| message.is_err()));
        assert!(!is_open(&connection));
    }
}
