//! An HTTP server with scripted replies.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use codex_scenario::{HttpResponder, HttpServer, SocketSession, sse};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{HttpReply, ReceivedRequest};

/// The server. Dropping it closes all connections.
#[derive(Debug)]
pub struct ModelServer {
    server: HttpServer,
    state: Arc<ServerState>,
}

/// Answers a request from what it asks; none leaves it to the other replies.
struct Answer(Box<dyn AnswerRequest>);

trait AnswerRequest: Fn(&ReceivedRequest) -> Option<HttpReply> + Send + Sync {}

impl<F: Fn(&ReceivedRequest) -> Option<HttpReply> + Send + Sync> AnswerRequest for F {}

impl fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Answer")
    }
}

#[derive(Debug)]
struct ServerState {
    answer: Mutex<Option<Answer>>,
    /// The replies per path, in order.
    replies: Mutex<HashMap<String, VecDeque<HttpReply>>>,
    /// The replies to requests of agents, in order.
    for_agents: Mutex<VecDeque<HttpReply>>,
    /// The replies to other requests, in order.
    others: Mutex<VecDeque<HttpReply>>,
    /// The reply when no other is left.
    fallback: Mutex<HttpReply>,
    requests: watch::Sender<Vec<ReceivedRequest>>,
    /// The replies to handshakes of websockets; none accepts one.
    handshakes: Mutex<VecDeque<Option<HttpReply>>>,
    /// The reply to handshakes when no other is left.
    always_websockets: AtomicBool,
    /// How many websockets were prepared.
    warmed: watch::Sender<usize>,
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
            answer: Mutex::default(),
            replies: Mutex::default(),
            for_agents: Mutex::default(),
            others: Mutex::new(replies.into_iter().collect()),
            fallback: Mutex::new(HttpReply::status(501).body("the script has no reply left")),
            requests: watch::Sender::new(Vec::new()),
            handshakes: Mutex::default(),
            always_websockets: AtomicBool::new(false),
            warmed: watch::Sender::new(0),
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

    /// Answers requests from what they ask, where this has an answer.
    pub fn answer(
        &self,
        answer: impl Fn(&ReceivedRequest) -> Option<HttpReply> + Send + Sync + 'static,
    ) {
        *self.state.answer.lock() = Some(Answer(Box::new(answer)));
    }

    /// Sets the reply to requests when no other reply is left.
    pub fn always(&self, reply: HttpReply) {
        *self.state.fallback.lock() = reply;
    }

    /// Accepts websockets. Their messages get the same replies as requests.
    pub fn accept_websockets(&self) {
        self.state.always_websockets.store(true, Ordering::Relaxed);
    }

    /// Accepts the next handshake of a websocket, or refuses it with a reply.
    pub fn push_handshake(&self, refusal: Option<HttpReply>) {
        self.state.handshakes.lock().push_back(refusal);
    }

    /// Waits until a websocket was prepared so many times.
    pub async fn warmed(&self, times: usize) {
        let mut warmed = self.state.warmed.subscribe();
        // The sender exists, so the channel cannot be closed.
        let _ = warmed.wait_for(|warmed| *warmed >= times).await;
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
            Some("collab_spawn" | "memory_consolidation") => self.for_agents.lock().pop_front(),
            _ => None,
        };
        let answer = self.answer.lock();
        let answered = answer.as_ref().and_then(|answer| answer.0(&request));
        let reply = answered
            .or(for_agent)
            .or_else(for_path)
            .or_else(|| self.others.lock().pop_front())
            .unwrap_or_else(|| self.fallback.lock().clone());
        self.requests.send_modify(|requests| requests.push(request));
        reply
    }

    fn open_socket(
        self: Arc<Self>,
        handshake: &ReceivedRequest,
    ) -> Result<Box<dyn SocketSession>, HttpReply> {
        let refusal = match self.handshakes.lock().pop_front() {
            Some(given) => given,
            None if self.always_websockets.load(Ordering::Relaxed) => None,
            None => Some(HttpReply::status(426)),
        };
        match refusal {
            Some(reply) => Err(reply),
            None => Ok(Box::new(ModelSocket {
                handshake: handshake.clone(),
                state: self,
            })),
        }
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

/// A websocket, whose messages are requests with the headers of its handshake.
struct ModelSocket {
    handshake: ReceivedRequest,
    state: Arc<ServerState>,
}

impl SocketSession for ModelSocket {
    fn message(&mut self, text: &str) -> HttpReply {
        let request = ReceivedRequest {
            method: "WEBSOCKET".to_owned(),
            body: text.as_bytes().to_vec(),
            ..self.handshake.clone()
        };
        if request.json()["generate"] == false {
            self.state.warmed.send_modify(|warmed| *warmed += 1);
            return HttpReply::stream(&[sse::created("warm"), sse::completed("warm")]);
        }
        self.state.reply(request)
    }
}
