//! Serves a scenario over HTTP and websockets.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;

use crate::format::Scenario;
use crate::http_reply::HttpReply;
use crate::http_request::ReceivedRequest;
use crate::http_server::{HttpResponder, HttpServer};
use crate::player::{ScenarioPlayer, refused};
use crate::realtime_format::RealtimeScript;
use crate::realtime_socket::RealtimeSocket;
use crate::responses_socket::ResponsesSocket;
use crate::socket_server::SocketSession;

/// A Responses API with scripted replies. Dropping it stops the server.
#[derive(Debug)]
pub struct ScenarioServer {
    server: HttpServer,
}

impl ScenarioServer {
    /// Starts on a free port of the loopback interface.
    ///
    /// # Errors
    /// No port can be bound.
    pub async fn start(scenario: Scenario) -> io::Result<Self> {
        let realtime = scenario.realtime.clone();
        let player = Arc::new(Mutex::new(ScenarioPlayer::new(scenario)));
        let server = HttpServer::start(Arc::new(ScriptedResponder { player, realtime })).await?;
        Ok(Self { server })
    }

    /// The base URL of the API, for a model provider.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.server.address())
    }
}

/// The header that names the thread of a request.
const THREAD: &str = "session_id";

#[derive(Debug)]
struct ScriptedResponder {
    player: Arc<Mutex<ScenarioPlayer>>,
    realtime: Option<RealtimeScript>,
}

impl HttpResponder for ScriptedResponder {
    fn reply(&self, request: ReceivedRequest) -> HttpReply {
        if request.method == "POST" && request.path.ends_with("/responses") {
            let mut player = self.player.lock();
            return player.reply(request.header(THREAD), &request.body);
        }
        let reason = format!(
            "a scripted model has no {} {}",
            request.method, request.path
        );
        refused(404, json!({ "message": reason }))
    }

    fn open_socket(
        self: Arc<Self>,
        handshake: &ReceivedRequest,
    ) -> Result<Box<dyn SocketSession>, HttpReply> {
        if handshake.path.ends_with("/responses") {
            let player = Arc::clone(&self.player);
            let thread = handshake.header(THREAD).map(str::to_owned);
            return Ok(Box::new(ResponsesSocket::new(player, thread)));
        }
        if let Some(script) = self.realtime.clone()
            && handshake.path.ends_with("/realtime")
        {
            return Ok(Box::new(RealtimeSocket::new(script)));
        }
        let reason = format!("a scripted model has no websocket at {}", handshake.path);
        Err(refused(404, json!({ "message": reason })))
    }
}
