//! The commands that run in the background.

use std::sync::Arc;

use codex_session_base::thread::{BackgroundTerminal, ThreadClosed};
use tokio::sync::oneshot;

use super::actor::SessionActor;
use super::call::ThreadCall;

/// Replies which commands run in the background.
#[derive(Debug)]
pub struct ListTerminals;

impl ThreadCall for ListTerminals {
    type Reply = Result<Vec<BackgroundTerminal>, ThreadClosed>;

    async fn run(self, session: &mut SessionActor) -> Self::Reply {
        Ok(session.base.tool_services.terminals.running())
    }
}

/// Stops one of them.
#[derive(Debug)]
pub struct StopTerminal {
    /// Its id.
    pub id: i32,
    /// Gets whether there was one, once it has ended.
    pub reply: oneshot::Sender<Result<bool, ThreadClosed>>,
}

impl ThreadCall for StopTerminal {
    type Reply = ();

    async fn run(self, session: &mut SessionActor) {
        let Self { id, reply } = self;
        let services = Arc::clone(&session.base.tool_services);
        tokio::spawn(async move { reply.send(Ok(services.terminals.stop(id).await)) });
    }
}
