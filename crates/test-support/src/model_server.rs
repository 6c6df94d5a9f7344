//! A server on this machine that answers as a test has written down.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;

use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::task::JoinSet;

use crate::HttpReply;
use crate::ReceivedRequest;
use crate::http_reply::Connection;
use crate::lock;

/// The server. It ends, and closes its connections, when it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    state: Arc<State>,
    task: AbortHandle,
}

#[derive(Debug)]
struct State {
    /// The replies for each path, in order.
    replies: Mutex<HashMap<String, VecDeque<HttpReply>>>,
    /// The replies for any other request.
    others: Mutex<VecDeque<HttpReply>>,
    /// The reply when nothing else is left.
    fallback: Mutex<HttpReply>,
    requests: watch::Sender<Vec<ReceivedRequest>>,
    connections: watch::Sender<Connections>,
}

/// Counts connections.
#[derive(Clone, Copy, Debug, Default)]
struct Connections {
    made: usize,
    open: usize,
}

impl ModelServer {
    /// A server that answers with these replies, and then always with status 501.
    pub async fn start(replies: impl IntoIterator<Item = HttpReply>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            replies: Mutex::default(),
            others: Mutex::new(replies.into_iter().collect()),
            fallback: Mutex::new(HttpReply::status(501).body("the script has no reply left")),
            requests: watch::Sender::new(Vec::new()),
            connections: watch::Sender::default(),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&state))).abort_handle();
        Ok(Self {
            address,
            state,
            task,
        })
    }

    /// The address of the API, for a provider.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Adds a reply for any request.
    pub fn push(&self, reply: HttpReply) {
        lock(&self.state.others).push_back(reply);
    }

    /// Adds a reply for requests of one path, without `/v1`.
    pub fn push_for(&self, path: &str, reply: HttpReply) {
        let mut replies = lock(&self.state.replies);
        let queue = replies.entry(format!("/v1{path}")).or_default();
        queue.push_back(reply);
    }

    /// Sets the reply to every request that no other is left for.
    pub fn always(&self, reply: HttpReply) {
        *lock(&self.state.fallback) = reply;
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.requests.borrow().clone()
    }

    /// Waits for request number `index`, from 0.
    pub async fn request(&self, index: usize) -> ReceivedRequest {
        let mut requests = self.state.requests.subscribe();
        loop {
            if let Some(request) = requests.borrow_and_update().get(index) {
                return request.clone();
            }
            // The sender is at hand, so that the channel cannot be closed.
            let _ = requests.changed().await;
        }
    }

    /// How many connections there were.
    pub fn connections(&self) -> usize {
        self.state.connections.borrow().made
    }

    /// Waits until no connection is open.
    pub async fn disconnected(&self) {
        let mut connections = self.state.connections.subscribe();
        let _ = connections
            .wait_for(|connections| connections.open == 0)
            .await;
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    fn reply(&self, request: &ReceivedRequest) -> HttpReply {
        let for_path = lock(&self.replies)
            .get_mut(&request.path)
            .and_then(VecDeque::pop_front);
        for_path
            .or_else(|| lock(&self.others).pop_front())
            .unwrap_or_else(|| lock(&self.fallback).clone())
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    // Dropped with this task, and the connections with it.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        state.connections.send_modify(|connections| {
            connections.made += 1;
            connections.open += 1;
        });
        let state = Arc::clone(&state);
        connections.spawn(async move {
            // A client that goes away in the middle is what some tests are about.
            let _ = serve(stream, &state).await;
            state
                .connections
                .send_modify(|connections| connections.open -= 1);
        });
    }
}

async fn serve(stream: TcpStream, state: &State) -> io::Result<()> {
    let (mut reader, mut writer) = stream.into_split();
    let mut buffer = Vec::new();
    while let Some(request) = ReceivedRequest::read(&mut reader, &mut buffer).await? {
        let reply = state.reply(&request);
        state
            .requests
            .send_modify(|requests| requests.push(request));
        // Also while the reply stalls it must be noticed that nobody listens any more.
        let connection = tokio::select! {
            sent = reply.send(&mut writer) => sent?,
            more = reader.read_buf(&mut buffer) => match more? {
                0 => return Ok(()),
                _ => return Err(io::ErrorKind::InvalidData.into()),
            },
        };
        if connection == Connection::Close {
            return Ok(());
        }
    }
    Ok(())
}
