//! The handle of a thread.

use std::path::Path;
use std::sync::Arc;

use codex_protocol::{
    AgentStatus, CodexErrorInfo, ErrorEvent, Event, EventMsg, GuardianAssessmentEvent, Op,
    ReasoningEffort, ResponseItem, Submission, ThreadId, ThreadPin, ThreadSettings,
    ThreadSettingsPatch,
};
use codex_realtime::ConversationInputs;
use codex_rollout::{ClaimError, RolloutWriteError};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{oneshot, watch};

use super::approval_review::AllowDenied;
use super::call::{CallQueue, ThreadCall};
use super::context_snapshot::ReadContext;
use super::continued::ContinueTurn;
use super::mcp_servers::ReplaceMcpServers;
use super::notices::InjectItems;
use super::operations::Submit;
use super::pins::{AddPin, ListPins, RemovePin, SetPins};
use super::realtime::{ReadRealtimeInputs, StartRealtime, StopRealtime};
use super::settings::UpdateSettings;
use super::start_turn::StartTurn;
use super::steer::Steer;
use super::team::TakeMail;
use super::terminals::{ListTerminals, StopTerminal};
use crate::config::{McpServer, RealtimeStart};
use crate::events::Emitter;
use crate::history::ContextSnapshot;
use crate::input::TurnInput;
use crate::mcp::{McpServers, RequiredServersFailed};
use crate::ports::Ids;
use crate::thread::{
    AgentSession, BackgroundTerminal, McpServerUnavailable, NewTurn, PinError, Sample, SampleError,
    SampleRequest, SessionEnd, SettingsError, StartTurnError, SteerError, ThreadClosed,
    TurnSettingsError, TurnSettingsPatch,
};
use crate::timeout_pauses::TimeoutPauses;

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
        let (server, running) = found.map_err(McpServerUnavailable)?;
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
        found
            .map(|(_, running)| running)
            .map_err(McpServerUnavailable)
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

    /// Asks the session for something; waits while the queue is full.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn call<C: ThreadCall>(&self, call: C) -> Result<C::Reply, ThreadClosed> {
        self.calls.call(call).await
    }

    /// The same for a call that replies through a sender in itself.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn ask<C: ThreadCall<Reply = ()>, R>(
        &self,
        call: impl FnOnce(oneshot::Sender<R>) -> C,
    ) -> Result<R, ThreadClosed> {
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

    /// Replaces the MCP servers when the next turn starts.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn set_mcp_servers(&self, servers: Vec<McpServer>) -> Result<(), ThreadClosed> {
        self.send(ReplaceMcpServers(servers)).await
    }

    /// Adds items to what the model sees: at once, or before the next request of the running turn. Until then they are kept
    /// on disk.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn inject(&self, items: Vec<ResponseItem>) -> Result<(), ThreadClosed> {
        self.call(InjectItems(items)).await
    }

    /// What the context of the model is made of: while a turn runs, as of its last request.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn context(&self) -> Result<ContextSnapshot, ThreadClosed> {
        self.call(ReadContext).await?.ok_or(ThreadClosed)
    }

    /// What is pinned.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn pins(&self) -> Result<Vec<ThreadPin>, ThreadClosed> {
        self.call(ListPins).await
    }

    /// Pins a text, which may be that of an item. The model gets a text that is of none at once.
    ///
    /// # Errors
    /// The text is too long, there are too many, or the thread cannot be written.
    pub async fn pin(&self, text: String, item_id: Option<String>) -> Result<ThreadPin, PinError> {
        let added = self.call(AddPin { text, item_id }).await;
        added.map_err(|_| PinError::Closed)?
    }

    /// Takes a pin away.
    ///
    /// # Errors
    /// There is none with this id, or the thread cannot be written.
    pub async fn unpin(&self, id: String) -> Result<(), PinError> {
        let removed = self.call(RemovePin { id }).await;
        removed.map_err(|_| PinError::Closed)?
    }

    /// Pins exactly these texts, as a recorded session had them. Nothing is told to the model.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn set_pins(&self, pins: Vec<ThreadPin>) -> Result<(), ThreadClosed> {
        self.call(SetPins(pins)).await
    }

    /// The commands that run in the background.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn background_terminals(&self) -> Result<Vec<BackgroundTerminal>, ThreadClosed> {
        self.call(ListTerminals).await
    }

    /// Stops one of them and waits for its end. Returns false if there is none with this id.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn stop_terminal(&self, id: i32) -> Result<bool, ThreadClosed> {
        self.ask(|reply| StopTerminal { id, reply }).await
    }

    /// Asks the model once with the context of the thread, at the end of the turn if one runs. Neither the
    /// history nor the file change. If the future is dropped, the request is cancelled.
    ///
    /// # Errors
    /// The request failed, too many wait already, or the thread is closed.
    pub async fn sample(
        &self,
        prompt: String,
        effort: Option<ReasoningEffort>,
    ) -> Result<Sample, SampleError> {
        let sample = self.ask(|reply| SampleRequest {
            prompt,
            effort,
            reply,
        });
        sample.await.map_err(|_| SampleError::Closed)?
    }

    /// Allows an action that automatic review denied, once. The event is that of the denial.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn allow_denied(&self, event: GuardianAssessmentEvent) -> Result<(), ThreadClosed> {
        self.send(AllowDenied(Box::new(event))).await
    }

    /// Whether the thread can have realtime conversations.
    #[must_use]
    pub fn supports_realtime(&self) -> bool {
        self.supports_realtime
    }

    /// Starts a realtime conversation, in place of one that lasts. What comes of it are events.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn start_realtime(&self, start: RealtimeStart) -> Result<(), ThreadClosed> {
        self.send(StartRealtime(Box::new(start))).await
    }

    /// The inputs of the realtime conversation. Without one, an error is emitted.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn realtime_inputs(&self) -> Result<Option<ConversationInputs>, ThreadClosed> {
        self.call(ReadRealtimeInputs).await
    }

    /// Ends the realtime conversation. An event follows, also if there is none.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn stop_realtime(&self) -> Result<(), ThreadClosed> {
        self.send(StopRealtime).await
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

    /// Changes settings from the next turn on. A relative folder is resolved against that of the thread.
    ///
    /// # Errors
    /// An administrator does not allow them, and none is changed.
    pub async fn update_settings(
        &self,
        patch: ThreadSettingsPatch,
    ) -> Result<Arc<ThreadSettings>, SettingsError> {
        let updated = self.call(UpdateSettings(Box::new(patch))).await;
        updated.map_err(|_| SettingsError::Closed)?
    }

    /// Changes settings of a running turn from its next request to the model on. Returns whether that turn runs.
    ///
    /// # Errors
    /// Nothing is changed.
    pub async fn change_turn(&self, patch: TurnSettingsPatch) -> Result<bool, TurnSettingsError> {
        let changed = self.call(patch).await;
        changed.map_err(|_| TurnSettingsError::Closed)?
    }

    /// Starts a turn, or gives its input to the running one. Returns the id of the turn that got the input.
    /// If settings are not allowed, the turn fails; if another turn runs, this call fails.
    ///
    /// # Errors
    /// No turn starts and nothing is changed.
    pub async fn start_turn(&self, turn: NewTurn) -> Result<String, StartTurnError> {
        let started = self.ask(|reply| StartTurn { turn, reply }).await;
        started.map_err(|_| StartTurnError::Closed)?
    }

    /// Continues the turn that had not ended when the process of the thread did. `settings` are what differs from the
    /// settings that it had.
    ///
    /// # Errors
    /// It is not continued, and nothing is changed.
    pub async fn continue_turn(
        &self,
        turn: String,
        settings: ThreadSettingsPatch,
    ) -> Result<(), StartTurnError> {
        let continued = self.ask(|reply| ContinueTurn {
            turn,
            settings: Box::new(settings),
            reply,
        });
        continued.await.map_err(|_| StartTurnError::Closed)?
    }

    /// Gives input to the running turn and returns its id.
    ///
    /// # Errors
    /// It did not get in.
    pub async fn steer(
        &self,
        expected: Option<String>,
        input: impl Into<TurnInput>,
    ) -> Result<String, SteerError> {
        let input = input.into();
        let steered = self.call(Steer { expected, input }).await;
        steered.map_err(|_| SteerError::Closed)?
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

    fn start_turn(&self, turn: NewTurn) -> BoxFuture<'_, Result<String, String>> {
        let started = Self::start_turn(self, turn);
        Box::pin(started.map(|turn| turn.map_err(|error| error.to_string())))
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
