//! The scripted model as a server.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;

use crate::format::Scenario;
use crate::http_reply::HttpReply;
use crate::http_request::ReceivedRequest;
use crate::http_server::{HttpServer, Responder};
use crate::player::{Player, refused};

/// Speaks the Responses API as a scenario says, until it is dropped.
#[derive(Debug)]
pub struct ScenarioServer {
    server: HttpServer,
}

impl ScenarioServer {
    /// Starts on a free port of the loopback interface.
    ///
    /// # Errors
    /// The system has no port to give.
    pub async fn start(scenario: Scenario) -> io::Result<Self> {
        let player = Mutex::new(Player::new(scenario));
        let server = HttpServer::start(Arc::new(Scripted { player })).await?;
        Ok(Self { server })
    }

    /// The address of the API, for a provider.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.server.address())
    }
}

#[derive(Debug)]
struct Scripted {
    player: Mutex<Player>,
}

impl Responder for Scripted {
    fn reply(&self, request: ReceivedRequest) -> HttpReply {
        if request.method == "POST" && request.path.ends_with("/responses") {
            let mut player = self.player.lock();
            return player.reply(&request.body);
        }
        let reason = format!(
            "a scripted model has no {} {}",
            request.method, request.path
        );
        refused(404, json!({ "message": reason }))
    }
}
