//! The handle of a thread.

use std::path::Path;
use std::sync::Arc;

use codex_protocol::{
    AgentStatus, CodexErrorInfo, ErrorEvent, Event, EventMsg, Op, Submission, ThreadId,
    ThreadSettings,
};
use codex_rollout::{ClaimError, RolloutWriteError};
use codex_session_base::events::Emitter;
use codex_session_base::mcp::McpServerUnavailable;
use codex_session_base::mcp::{McpServers, RequiredServersFailed};
use codex_session_base::ports::Ids;
use codex_session_base::thread::{AgentSession, NewTurn, SessionEnd, StartTurnError, ThreadClosed};
use codex_session_base::timeout_pauses::TimeoutPauses;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{oneshot, watch};

use super::call::{CallQueue, CallReply, ThreadCall};
use super::operations::Submit;
use super::start_turn::StartTurn;
use super::team::TakeMail;

/// The handle of a thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Thread {
    pub(crate) id: ThreadId,
    pub(crate) path: Option<Arc<Path>>,
    pub(crate) calls: CallQueue,
    pub(crate) settings: watch::Receiver<Arc<ThreadSettings>>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) emitter: Emitter,
    pub(crate) timeout_pauses: TimeoutPauses,
    pub(crate) mcp: McpServers,
    pub(crate) supports_realtime: bool,
}

impl Thread {
    /// The id.
    #[must_use]
    pub fn id(&self) -> &ThreadId {
        &self.id
    }

    /// The file, which may not exist yet; none for an ephemeral thread.
    #[must_use]
    pub fn rollout_path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Pauses the time limits of its commands.
    #[must_use]
    pub fn timeout_pauses(&self) -> &TimeoutPauses {
        &self.timeout_pauses
    }

    /// A running server, and the connection to it.
    ///
    /// # Errors
    /// There is no such server, or it did not start.
    pub async fn mcp_server(
        &self,
        name: &str,
    ) -> Result<
        (
            codex_mcp_client::McpServerConfig,
            codex_mcp_client::McpConnection,
        ),
        McpServerUnavailable,
    > {
        let servers = self.mcp.current();
        let found = servers.running(name).await;
        let (server, running) = found?;
        Ok((server.clone(), running.connection))
    }

    /// The MCP servers of the thread, whether they run or not.
    #[must_use]
    pub fn mcp_servers(&self) -> Vec<codex_mcp_client::McpServerConfig> {
        self.mcp.current().configured().cloned().collect()
    }

    /// A running server with its tools.
    ///
    /// # Errors
    /// There is no such server, or it did not start.
    pub async fn running_mcp_server(
        &self,
        name: &str,
    ) -> Result<codex_mcp_client::RunningMcpServer, McpServerUnavailable> {
        let servers = self.mcp.current();
        let found = servers.running(name).await;
        found.map(|(_, running)| running)
    }

    /// Submits an operation; waits while the queue is full. Returns the id of the submission, which is that
    /// of the turn if it starts one.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn submit(&self, op: Op) -> Result<String, ThreadClosed> {
        let id = self.ids.submission();
        self.submit_as(Submission {
            id: id.clone(),
            op,
            trace: None,
        })
        .await?;
        Ok(id)
    }

    /// Submits an operation with an id of the caller.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn submit_as(&self, submission: Submission) -> Result<(), ThreadClosed> {
        self.send(Submit(submission)).await
    }

    /// Asks the session for something; waits while the queue is full. The reply says if the thread is closed.
    pub async fn call<C: ThreadCall<Reply: CallReply>>(&self, call: C) -> C::Reply {
        self.calls.call(call).await
    }

    /// The same for a call that replies through a sender in itself.
    pub async fn ask<C: ThreadCall, R: CallReply>(
        &self,
        call: impl FnOnce(oneshot::Sender<R>) -> C,
    ) -> R {
        self.calls.ask(call).await
    }

    /// Asks the session for something whose reply nobody needs; waits while the queue is full.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn send(&self, call: impl ThreadCall) -> Result<(), ThreadClosed> {
        self.calls.send(call).await
    }

    /// Prevents other processes from writing the thread. Without it, submissions may be refused.
    ///
    /// # Errors
    /// Another process has continued the thread.
    pub fn claim(&self) -> Result<(), ClaimError> {
        self.emitter.claim()
    }

    /// Prevents other processes from writing the thread for as long as it is loaded.
    ///
    /// # Errors
    /// Another process has continued the thread.
    pub fn hold(&self) -> Result<(), ClaimError> {
        self.emitter.hold_claim()
    }

    /// Waits for the required MCP servers.
    ///
    /// # Errors
    /// Some did not start.
    pub async fn required_servers(&self) -> Result<(), RequiredServersFailed> {
        self.mcp.required().await
    }

    /// Whether the thread can have realtime conversations.
    #[must_use]
    pub fn supports_realtime(&self) -> bool {
        self.supports_realtime
    }

    /// Creates the file of a thread that has none yet. Returns once it is on the disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn store(&self) -> Result<(), RolloutWriteError> {
        if self.emitter.begin_file() {
            self.emitter.materialise(None);
        }
        self.synchronise().await
    }

    /// Waits until all events so far can be read from the file.
    ///
    /// # Errors
    /// Something could not be written.
    pub async fn flush(&self) -> Result<(), RolloutWriteError> {
        self.emitter.flush().await
    }

    /// Waits until all events so far are on the disk, where a power cut does not take them away.
    ///
    /// # Errors
    /// Something could not be written or synchronised.
    pub async fn synchronise(&self) -> Result<(), RolloutWriteError> {
        self.emitter.synchronise().await
    }

    /// The current settings.
    #[must_use]
    pub fn settings(&self) -> Arc<ThreadSettings> {
        Arc::clone(&self.settings.borrow())
    }
}

impl AgentSession for Thread {
    fn id(&self) -> &ThreadId {
        &self.id
    }

    fn is_stored(&self) -> bool {
        self.path.is_some()
    }

    fn status(&self) -> watch::Receiver<AgentStatus> {
        self.emitter.status()
    }

    fn submit(&self, op: Op) -> BoxFuture<'_, Result<String, ThreadClosed>> {
        Box::pin(Self::submit(self, op))
    }

    fn try_submit(&self, submission: Submission) -> bool {
        self.calls.try_send(Submit(submission))
    }

    fn try_wake(&self) -> bool {
        self.calls.try_send(TakeMail)
    }

    fn start_turn(&self, turn: NewTurn) -> BoxFuture<'_, Result<String, StartTurnError>> {
        self.ask(|reply| StartTurn { turn, reply }).boxed()
    }

    fn has_ended(&self) -> bool {
        self.calls.is_closed()
    }

    fn end(&self) -> SessionEnd {
        let calls = self.calls.clone();
        async move { calls.closed().await }.boxed().shared()
    }
}

/// The event for a line that is no valid submission.
#[must_use]
pub fn unreadable_submission(reason: &str) -> Event {
    let message = format!("invalid submission: {reason}");
    let codex_error_info = Some(CodexErrorInfo::BadRequest);
    let msg = EventMsg::Error(ErrorEvent {
        message,
        codex_error_info,
        exceeded_limit: None,
    });
    Event {
        id: String::new(),
        msg,
    }
}
