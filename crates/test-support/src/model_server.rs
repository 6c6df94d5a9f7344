//! A server on this machine that answers as a test has written down.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;

use codex_scenario::{HttpServer, Responder};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{HttpReply, ReceivedRequest};

/// The server. It ends, and closes its connections, when it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    server: HttpServer,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    /// The replies for each path, in order.
    replies: Mutex<HashMap<String, VecDeque<HttpReply>>>,
    /// The replies for agents.
    for_agents: Mutex<VecDeque<HttpReply>>,
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
        let state = Arc::new(State {
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

    /// The address of the API, for a provider.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.server.address())
    }

    /// Adds a reply for any request.
    pub fn push(&self, reply: HttpReply) {
        self.state.others.lock().push_back(reply);
    }

    /// Adds a reply for requests of one path, without `/v1`.
    pub fn push_for(&self, path: &str, reply: HttpReply) {
        let mut replies = self.state.replies.lock();
        let queue = replies.entry(format!("/v1{path}")).or_default();
        queue.push_back(reply);
    }

    /// Adds a reply for requests of agents, which ask beside the thread that has started them.
    pub fn push_for_agent(&self, reply: HttpReply) {
        self.state.for_agents.lock().push_back(reply);
    }

    /// Sets the reply to every request that no other is left for.
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

impl Responder for State {
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
