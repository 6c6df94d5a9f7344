//! An HTTP server with scripted replies.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;

use codex_scenario::{HttpResponder, HttpServer};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{HttpReply, ReceivedRequest};

/// The server. Dropping it closes all connections.
#[derive(Debug)]
pub struct ModelServer {
    server: HttpServer,
    state: Arc<ServerState>,
}

#[derive(Debug)]
struct ServerState {
    /// The replies per path, in order.
    replies: Mutex<HashMap<String, VecDeque<HttpReply>>>,
    /// The replies to requests of agents, in order.
    for_agents: Mutex<VecDeque<HttpReply>>,
    /// The replies to other requests, in order.
    others: Mutex<VecDeque<HttpReply>>,
    /// The reply when no other is left.
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
    /// Starts a server with these replies. After the last one it replies with status 501.
    pub async fn start(replies: impl IntoIterator<Item = HttpReply>) -> io::Result<Self> {
        let state = Arc::new(ServerState {
            replies: Mutex::default(),
            for_agents: Mutex::default(),
            others: Mutex::new(replies.into_iter().collect()),
            fallback: Mutex::new(HttpReply::status(501).body("the script has no reply left")),
            requests: watch::Sender::new(Vec::new()),
            connections: watch::Sender::default(),
        });
        let server = HttpServer::start(Arc::clone(&state)).await?;
        Ok(Self { server, state })
    }

    /// The base URL of the API, for a model provider.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.server.address())
    }

    /// Adds a reply to any request.
    pub fn push(&self, reply: HttpReply) {
        self.state.others.lock().push_back(reply);
    }

    /// Adds a reply to requests of one path, without `/v1`.
    pub fn push_for(&self, path: &str, reply: HttpReply) {
        let mut replies = self.state.replies.lock();
        let queue = replies.entry(format!("/v1{path}")).or_default();
        queue.push_back(reply);
    }

    /// Adds a reply to requests of agents, which arrive in no fixed order with those of their parent.
    pub fn push_for_agent(&self, reply: HttpReply) {
        self.state.for_agents.lock().push_back(reply);
    }

    /// Sets the reply to requests when no other reply is left.
    pub fn always(&self, reply: HttpReply) {
        *self.state.fallback.lock() = reply;
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
            // The sender exists, so the channel cannot be closed.
            let _ = requests.changed().await;
        }
    }

    /// The number of connections so far.
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

impl HttpResponder for ServerState {
    fn reply(&self, request: ReceivedRequest) -> HttpReply {
        let for_path = || {
            let mut replies = self.replies.lock();
            replies.get_mut(&request.path)?.pop_front()
        };
        let for_agent = match request.header("x-openai-subagent") {
            Some("collab_spawn") => self.for_agents.lock().pop_front(),
            _ => None,
        };
        let reply = for_agent
            .or_else(for_path)
            .or_else(|| self.others.lock().pop_front())
            .unwrap_or_else(|| self.fallback.lock().clone());
        self.requests.send_modify(|requests| requests.push(request));
        reply
    }

    fn opened(&self) {
        self.connections.send_modify(|connections| {
            connections.made += 1;
            connections.open += 1;
        });
    }

    fn closed(&self) {
        self.connections
            .send_modify(|connections| connections.open -= 1);
    }
}
