//! Starts servers, all at once and in the background, and emits their progress.

use std::collections::BTreeMap;
use std::sync::Arc;

use codex_mcp_client::{
    ElicitationHandler, ElicitationReply, McpConnector, McpError, McpServerConfig, RunningMcpServer,
};
use codex_protocol::{
    ElicitationRequest, EventMsg, McpStartupCompleteEvent, McpStartupFailure, McpStartupStatus,
    McpStartupUpdateEvent, RequestId,
};
use futures::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::sandbox_state::{SandboxState, SentSandboxState};
use super::servers::{McpServerSet, ServerProgress, ServerSlot};
use crate::config::McpServer;
use crate::events::Emitter;
use crate::questions::QuestionAnswer;
use crate::requests::Requests;

/// Starts these servers.
pub(super) fn start(
    connector: &McpConnector,
    emitter: &Emitter,
    elicitations: &Requests<Elicitation>,
    takes_openai_forms: bool,
    servers: Vec<McpServer>,
    sandbox: &SandboxState,
) -> McpServerSet {
    let cancelled = CancellationToken::new();
    let mut slots = BTreeMap::new();
    let mut starts = Vec::new();
    for configured in servers {
        let name = configured.server.name.clone();
        emit_status(emitter, &name, McpStartupStatus::Starting);
        let (sender, progress) = watch::channel(ServerProgress::Starting);
        let sent_state = SentSandboxState::default();
        let start = ServerStart {
            sandbox: sandbox.clone(),
            sent_state: sent_state.clone(),
            connector: connector.clone(),
            configured: configured.clone(),
            emitter: emitter.clone(),
            elicitations: elicitations.clone(),
            takes_openai_forms,
            cancelled: cancelled.clone(),
            progress: sender,
        };
        starts.push(start.run());
        slots.insert(
            name,
            ServerSlot {
                configured,
                progress,
                sent_state,
                listed_again: Mutex::default(),
            },
        );
    }
    if !starts.is_empty() {
        let emitter = emitter.clone();
        tokio::spawn(async move {
            let mut complete = McpStartupCompleteEvent::default();
            for (name, progress) in join_all(starts).await {
                match progress {
                    McpStartupStatus::Failed { error } => {
                        complete.failed.push(McpStartupFailure {
                            server: name,
                            error,
                        });
                    }
                    McpStartupStatus::Cancelled => complete.cancelled.push(name),
                    McpStartupStatus::Starting | McpStartupStatus::Ready => {
                        complete.ready.push(name);
                    }
                }
            }
            emitter.emit("", EventMsg::McpStartupComplete(complete));
        });
    }
    McpServerSet { slots, cancelled }
}

fn emit_status(emitter: &Emitter, server: &str, status: McpStartupStatus) {
    let server = server.to_owned();
    let update = McpStartupUpdateEvent { server, status };
    emitter.emit("", EventMsg::McpStartupUpdate(update));
}

/// The start of one server.
struct ServerStart {
    sandbox: SandboxState,
    sent_state: SentSandboxState,
    connector: McpConnector,
    configured: McpServer,
    emitter: Emitter,
    elicitations: Requests<Elicitation>,
    takes_openai_forms: bool,
    cancelled: CancellationToken,
    progress: watch::Sender<ServerProgress>,
}

impl ServerStart {
    async fn run(self) -> (String, McpStartupStatus) {
        let server = &self.configured.server;
        let questions = Arc::new(ThreadQuestions {
            server: server.name.clone(),
            elicitations: self.elicitations.clone(),
            takes_openai_forms: self.takes_openai_forms,
        });
        let progress = tokio::select! {
            biased;
            () = self.cancelled.cancelled() => ServerProgress::Cancelled,
            started = self.connect(server, questions) => match started {
                Ok(running) => ServerProgress::Ready(running),
                Err(error) => ServerProgress::Failed(error),
            },
        };
        if let (ServerProgress::Ready(running), Some(apps)) = (&progress, &self.configured.apps) {
            let (cache, tools) = (apps.cache.clone(), running.tools.clone());
            // Nobody waits for the file.
            drop(tokio::task::spawn_blocking(move || cache.store(&tools)));
        }
        let status = match &progress {
            ServerProgress::Failed(error) => McpStartupStatus::Failed {
                error: explained(&self.configured, error),
            },
            ServerProgress::Cancelled => McpStartupStatus::Cancelled,
            ServerProgress::Starting | ServerProgress::Ready(_) => McpStartupStatus::Ready,
        };
        self.progress.send_replace(progress);
        emit_status(&self.emitter, &server.name, status.clone());
        (server.name.clone(), status)
    }

    async fn connect(
        &self,
        server: &McpServerConfig,
        questions: Arc<ThreadQuestions>,
    ) -> Result<RunningMcpServer, McpError> {
        let running = self.connector.start(server, questions).await?;
        let sent_state = self
            .sent_state
            .send(&server.name, &running.connection, &self.sandbox);
        sent_state.await;
        Ok(running)
    }
}

/// The message about a server that did not start.
fn explained(configured: &McpServer, error: &McpError) -> String {
    let name = &configured.server.name;
    match error {
        McpError::AuthRequired => {
            format!("The {name} MCP server is not logged in. Run `codex mcp login {name}`.")
        }
        McpError::Timeout { limit, .. } => format!(
            "MCP client for `{name}` timed out after {} seconds. Add or adjust \
             `startup_timeout_sec` in your config.toml:\n[mcp_servers.{name}]\n\
             startup_timeout_sec = XX",
            limit.as_secs()
        ),
        error => {
            format!("MCP client for `{name}` failed to start: MCP startup failed: {error}")
        }
    }
}

/// A question of a server for the user.
#[derive(Debug)]
pub struct Elicitation {
    pub server: String,
    pub id: RequestId,
    pub request: Box<ElicitationRequest>,
    pub reply: oneshot::Sender<QuestionAnswer>,
}

/// Passes the questions of a server on to the session.
#[derive(Debug)]
struct ThreadQuestions {
    server: String,
    elicitations: Requests<Elicitation>,
    takes_openai_forms: bool,
}

impl ElicitationHandler for ThreadQuestions {
    fn takes_openai_forms(&self) -> bool {
        self.takes_openai_forms
    }

    fn elicit(
        &self,
        id: RequestId,
        request: ElicitationRequest,
    ) -> BoxFuture<'static, ElicitationReply> {
        let (server, elicitations) = (self.server.clone(), self.elicitations.clone());
        Box::pin(async move {
            let answer = elicitations.ask(|reply| Elicitation {
                server,
                id,
                request: Box::new(request),
                reply,
            });
            match answer.await {
                Some(QuestionAnswer::Elicitation(reply)) => reply,
                _ => ElicitationReply::cancelled(),
            }
        })
    }
}
