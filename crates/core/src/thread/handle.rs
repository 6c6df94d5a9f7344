//! The handle of a thread: what goes in.

use std::path::Path;
use std::sync::Arc;

use codex_protocol::{
    CodexErrorInfo, ErrorEvent, Event, EventMsg, Op, ResponseItem, Submission, ThreadId,
    ThreadSettings, ThreadSettingsPatch,
};
use codex_rollout::{ClaimError, RolloutWriteError};
use tokio::sync::{mpsc, oneshot, watch};

use super::requests::{
    BackgroundTerminal, NewTurn, SettingsError, StartTurnError, SteerError, SteerRequest,
    ThreadClosed, ThreadRequest,
};
use crate::config::McpServer;
use crate::events::Emitter;
use crate::input::TurnInput;
use crate::mcp::McpServers;
use crate::ports::Ids;
use crate::timeout_pauses::TimeoutPauses;

/// The handle of a thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Thread {
    pub(crate) id: ThreadId,
    pub(crate) path: Option<Arc<Path>>,
    pub(crate) requests: mpsc::Sender<ThreadRequest>,
    pub(crate) settings: watch::Receiver<Arc<ThreadSettings>>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) emitter: Emitter,
    pub(crate) timeout_pauses: TimeoutPauses,
    pub(crate) mcp: McpServers,
}

impl Thread {
    /// The id.
    #[must_use]
    pub fn id(&self) -> &ThreadId {
        &self.id
    }

    /// The file, whether it is there yet or not; none for threads that leave none.
    #[must_use]
    pub fn rollout_path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// What holds the time limits of its commands.
    #[must_use]
    pub fn timeout_pauses(&self) -> &TimeoutPauses {
        &self.timeout_pauses
    }

    /// Hands an operation in, waiting while the queue is full. Answers the id of the submission,
    /// which is that of the turn if it starts one.
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

    /// Hands a submission in that has its id already.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn submit_as(&self, submission: Submission) -> Result<(), ThreadClosed> {
        let request = ThreadRequest::Submission(Box::new(submission));
        self.requests.send(request).await.map_err(|_| ThreadClosed)
    }

    /// From now on no other process goes on with the thread. What is submitted without that may be
    /// refused.
    ///
    /// # Errors
    /// Another process has gone on with it.
    pub fn claim(&self) -> Result<(), ClaimError> {
        self.emitter.claim()
    }

    /// Waits for the MCP servers without which there is no thread.
    ///
    /// # Errors
    /// Some did not start; a sentence that says which and why.
    pub async fn required_servers(&self) -> Result<(), String> {
        self.mcp.required().await
    }

    /// Has these MCP servers take the place of those that run when the next turn starts.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn set_mcp_servers(&self, servers: Vec<McpServer>) -> Result<(), ThreadClosed> {
        let request = ThreadRequest::McpServers(servers);
        self.requests.send(request).await.map_err(|_| ThreadClosed)
    }

    /// Puts items into what the model sees: at once, or before the next request of a turn that runs.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn inject(&self, items: Vec<ResponseItem>) -> Result<(), ThreadClosed> {
        let request = ThreadRequest::Inject(items);
        self.requests.send(request).await.map_err(|_| ThreadClosed)
    }

    /// The commands that run in the background.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn background_terminals(&self) -> Result<Vec<BackgroundTerminal>, ThreadClosed> {
        let (reply, answer) = oneshot::channel();
        let request = ThreadRequest::Terminals(reply);
        self.requests
            .send(request)
            .await
            .map_err(|_| ThreadClosed)?;
        answer.await.map_err(|_| ThreadClosed)
    }

    /// Stops one of them and waits for its end. False if there is none of that number.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn stop_terminal(&self, id: i32) -> Result<bool, ThreadClosed> {
        let (reply, answer) = oneshot::channel();
        let request = ThreadRequest::StopTerminal(id, reply);
        self.requests
            .send(request)
            .await
            .map_err(|_| ThreadClosed)?;
        answer.await.map_err(|_| ThreadClosed)
    }

    /// Waits until everything that was said so far can be read from the file.
    ///
    /// # Errors
    /// Something could not be written.
    pub async fn flush(&self) -> Result<(), RolloutWriteError> {
        self.emitter.flush().await
    }

    /// What it is set to now.
    #[must_use]
    pub fn settings(&self) -> Arc<ThreadSettings> {
        Arc::clone(&self.settings.borrow())
    }

    /// Changes settings from the next turn on. A relative folder starts at the thread's own.
    ///
    /// # Errors
    /// An administrator does not allow them, and none is changed.
    pub async fn update_settings(
        &self,
        patch: ThreadSettingsPatch,
    ) -> Result<Arc<ThreadSettings>, SettingsError> {
        let (reply, answer) = oneshot::channel();
        let request = ThreadRequest::UpdateSettings(Box::new(patch), reply);
        let sent = self.requests.send(request).await;
        sent.map_err(|_| SettingsError::Closed)?;
        answer.await.map_err(|_| SettingsError::Closed)?
    }

    /// Starts a turn, or puts its input into the one that runs, and answers the id of the turn that
    /// has the input. Settings that are not allowed fail the turn, or if another one runs, this.
    ///
    /// # Errors
    /// No turn starts and nothing is changed.
    pub async fn start_turn(&self, turn: NewTurn) -> Result<String, StartTurnError> {
        let (reply, answer) = oneshot::channel();
        let request = ThreadRequest::StartTurn(Box::new(turn), reply);
        let sent = self.requests.send(request).await;
        sent.map_err(|_| StartTurnError::Closed)?;
        answer.await.map_err(|_| StartTurnError::Closed)?
    }

    /// Puts input into the turn that runs and answers its id.
    ///
    /// # Errors
    /// It did not get in.
    pub async fn steer(
        &self,
        expected: Option<String>,
        input: impl Into<TurnInput>,
    ) -> Result<String, SteerError> {
        let (reply, answer) = oneshot::channel();
        let request = ThreadRequest::Steer(SteerRequest {
            expected,
            input: input.into(),
            reply,
        });
        self.requests
            .send(request)
            .await
            .map_err(|_| SteerError::Closed)?;
        answer.await.map_err(|_| SteerError::Closed)?
    }
}

/// The event for a line that cannot be read as a submission.
#[must_use]
pub fn unreadable_submission(reason: &str) -> Event {
    let message = format!("invalid submission: {reason}");
    let codex_error_info = Some(CodexErrorInfo::BadRequest);
    let msg = EventMsg::Error(ErrorEvent {
        message,
        codex_error_info,
    });
    Event {
        id: String::new(),
        msg,
    }
}
