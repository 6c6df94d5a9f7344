//! What a loaded thread does for each request.

use std::path::Path;
use std::sync::Arc;

use codex_app_server_protocol::ServerNotification as Told;
use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    ThreadResumeParams, ThreadRollbackResponse, ThreadSettingsUpdateParams,
    ThreadSettingsUpdateResponse, ThreadSettingsUpdatedNotification, ThreadUnsubscribeStatus, Turn,
    TurnInterruptParams, TurnInterruptResponse, TurnItemsView, TurnStartParams, TurnStartResponse,
    TurnStatus, TurnSteerParams, TurnSteerResponse,
};
use codex_core::{Said, SteerError, TaskKind};
use codex_protocol::{
    CodexErrorInfo, NonSteerableTurnKind, Op, OverrideTurnContext, Submission, Update, UserInputOp,
};
use serde_json::json;

use super::{Actor, Command, History, Snapshot, stored_thread};
use crate::connection::{ConnectionId, Responder};
use crate::failure::Failure;
use crate::handlers::stored::add_said;
use crate::handlers::{built_in_sandbox, first_page};
use crate::projection::{
    engine_approval, engine_input, engine_reviewer, engine_sandbox, turn_error,
};

impl Actor {
    pub(super) async fn carry_out(&mut self, command: Command) {
        match command {
            Command::Start(params, reply) => self.start_turn(*params, reply).await,
            Command::Settings(params, reply) => self.update_settings(*params, reply).await,
            Command::Steer(params, reply) => self.steer(params, reply).await,
            Command::Interrupt(params, reply) => self.interrupt(&params, reply).await,
            Command::Rollback(turns, reply) => self.roll_back(turns, reply).await,
            Command::Review(target, reply) => self.review(target, reply).await,
            Command::Submit(op, done) => {
                if self.thread.submit(op).await.is_ok() {
                    let _ = done.send(());
                }
            }
            Command::Engine(reply) => drop(reply.send(self.thread.clone())),
            Command::Holds(reply) => drop(reply.send(self.thread.holds().clone())),
            Command::McpServers(servers) => {
                let _ = self.thread.set_mcp_servers(servers).await;
            }
            Command::Join(params, reply) => self.join(&params, reply).await,
            Command::Describe(reply) => {
                let _ = self.thread.flush().await;
                let thread = self.facts.thread(self.status());
                let running = self.fold.running_turn();
                let _ = reply.send(Snapshot { thread, running });
            }
            Command::WatchIfUnheard(connection) => {
                if self.subscribers.is_empty() {
                    self.subscribe(&connection);
                    self.ask_again(&connection);
                }
                self.share_agents(&connection).await;
            }
            Command::Leave(connection, reply) => {
                let _ = reply.send(self.leave(connection));
                self.close_if_alone();
            }
            Command::Answer { question, answer } => self.answer(question, answer.as_deref()).await,
            Command::Close => self.close(),
            Command::PutAway => {
                self.is_put_away = true;
                self.close();
            }
        }
    }

    async fn start_turn(&mut self, params: TurnStartParams, reply: Responder<method::TurnStart>) {
        match self.submit_turn(params).await {
            Ok(id) => reply.accept(&TurnStartResponse {
                turn: Turn {
                    id,
                    items: Vec::new(),
                    status: TurnStatus::InProgress,
                    error: None,
                    started_at: None,
                    completed_at: None,
                    duration_ms: None,
                    items_view: Some(TurnItemsView::NotLoaded),
                },
            }),
            Err(failure) => reply.refuse(failure),
        }
    }

    /// Starts a turn, or puts what is said into the one that runs. The id of the turn that it is now in.
    async fn submit_turn(&mut self, params: TurnStartParams) -> Result<String, Failure> {
        let claimed = self.thread.claim();
        claimed.map_err(|error| Failure::invalid(error.to_string()))?;
        self.change_settings(&params).await?;
        let besides = params.additional_context.unwrap_or_default();
        let besides = self.additional_context.take(besides);
        if !besides.is_empty() {
            self.thread.inject(besides).await.map_err(closed)?;
        }
        let said = Said {
            items: params.input.into_iter().map(engine_input).collect(),
            client_id: params.client_user_message_id,
        };
        if self.turn.is_some() {
            match self.thread.steer(None, said.clone()).await {
                Ok(active) => return Ok(active),
                Err(SteerError::Closed) => return Err(closed(codex_core::Closed)),
                // It has just ended, or it is of a kind that takes no input: a turn of its own follows.
                Err(_) => {}
            }
        }
        let id = uuid::Uuid::now_v7().to_string();
        let op = Op::UserInput(UserInputOp {
            items: said.items,
            final_output_json_schema: params.output_schema,
            last_response_id: None,
            client_id: said.client_id,
            service_tier: params.service_tier_for_turn,
        });
        let submission = Submission {
            id: id.clone(),
            op,
            trace: None,
        };
        self.thread.submit_as(submission).await.map_err(closed)?;
        self.turn.get_or_insert_with(|| id.clone());
        Ok(id)
    }

    async fn change_settings(&mut self, params: &TurnStartParams) -> Result<(), Failure> {
        if let Some(change) = change_of_settings(params)? {
            self.note(&change);
            if change.sandbox_policy.is_some() {
                self.facts.permissions.clone_from(&params.permissions);
            }
            let op = Op::OverrideTurnContext(Box::new(change));
            self.thread.submit(op).await.map_err(closed)?;
        }
        Ok(())
    }

    async fn update_settings(
        &mut self,
        params: ThreadSettingsUpdateParams,
        reply: Responder<method::ThreadSettingsUpdate>,
    ) {
        if let Err(failure) = self.change_settings(&params.into()).await {
            return reply.refuse(failure);
        }
        reply.accept(&ThreadSettingsUpdateResponse {});
        let updated = ThreadSettingsUpdatedNotification {
            thread_id: self.thread.id().to_string(),
            thread_settings: self.facts.thread_settings(),
        };
        self.tell(&Told::ThreadSettingsUpdated(updated));
    }

    /// Keeps what is shown of the thread in step with what it is set to.
    fn note(&mut self, change: &OverrideTurnContext) {
        let settings = &mut self.facts.settings;
        if let Some(cwd) = &change.cwd {
            settings.cwd.clone_from(cwd);
        }
        if let Some(model) = &change.model {
            settings.model.clone_from(model);
        }
        if let Some(policy) = change.approval_policy {
            settings.approval_policy = policy;
        }
        if let Some(reviewer) = change.approvals_reviewer {
            settings.approvals_reviewer = reviewer;
        }
        if let Some(policy) = &change.sandbox_policy {
            settings.sandbox_policy.clone_from(policy);
        }
        change.effort.clone().apply(&mut settings.reasoning_effort);
        change
            .service_tier
            .clone()
            .apply(&mut settings.service_tier);
        if let Some(mode) = &change.collaboration_mode {
            settings.model.clone_from(&mode.settings.model);
            settings
                .reasoning_effort
                .clone_from(&mode.settings.reasoning_effort);
            self.facts.mode = Some(mode.clone());
        } else if let Some(mode) = &mut self.facts.mode {
            mode.settings.model.clone_from(&settings.model);
            mode.settings
                .reasoning_effort
                .clone_from(&settings.reasoning_effort);
        }
    }

    async fn steer(&mut self, params: TurnSteerParams, reply: Responder<method::TurnSteer>) {
        let said = Said {
            items: params.input.into_iter().map(engine_input).collect(),
            client_id: params.client_user_message_id,
        };
        let expected = Some(params.expected_turn_id);
        let steered = self.thread.steer(expected, said).await;
        let outcome = steered.map_err(|error| match error {
            SteerError::Closed => Failure::internal(error.to_string()),
            SteerError::NotSteerable(kind) => not_steerable(&error, kind),
            _ => Failure::invalid(error.to_string()),
        });
        reply.reply(outcome.map(|turn_id| TurnSteerResponse { turn_id }));
    }

    async fn interrupt(
        &mut self,
        params: &TurnInterruptParams,
        reply: Responder<method::TurnInterrupt>,
    ) {
        // Newer clients name no turn when they mean whatever runs.
        let any = params.turn_id.is_empty();
        match &self.turn {
            None if any => reply.accept(&TurnInterruptResponse {}),
            None => reply.refuse(Failure::invalid("no active turn to interrupt")),
            Some(active) if !any && *active != params.turn_id => {
                let expected = &params.turn_id;
                let message = format!("expected active turn id `{expected}` but found `{active}`");
                reply.refuse(Failure::invalid(message));
            }
            Some(active) => {
                self.fold.stopping(active);
                if self.thread.submit(Op::Interrupt).await.is_ok() {
                    self.interrupts.push(reply);
                }
            }
        }
    }

    async fn roll_back(&mut self, num_turns: u32, reply: Responder<method::ThreadRollback>) {
        if self.rollback.is_some() {
            let message = "rollback already in progress for this thread";
            return reply.refuse(Failure::invalid(message));
        }
        match self.thread.submit(Op::ThreadRollback { num_turns }).await {
            Ok(id) => self.rollback = Some((id, reply)),
            Err(error) => reply.refuse(closed(error)),
        }
    }

    /// An error that names the rollback means that there is none.
    pub(super) fn rollback_refused(&mut self, id: &str, message: &str) {
        if let Some((_, reply)) = self.rollback.take_if(|(submission, _)| submission == id) {
            reply.refuse(Failure::invalid(message));
        }
    }

    pub(super) async fn rolled_back(&mut self, id: &str) {
        let Some((_, reply)) = self.rollback.take_if(|(submission, _)| submission == id) else {
            return;
        };
        match self.read_file().await {
            Ok((path, loaded)) => {
                let (mut thread, turns) = stored_thread(&path, loaded, self.status());
                add_said(&self.server, &mut thread).await;
                reply.accept_with(&ThreadRollbackResponse { thread }, &turns);
            }
            Err(failure) => reply.refuse(failure),
        }
    }

    /// The file of the thread, with everything that was told so far.
    async fn read_file(&self) -> Result<(std::path::PathBuf, History), Failure> {
        let id = self.thread.id();
        let missing = || Failure::invalid(format!("no rollout found for thread id {id}"));
        let _ = self.thread.flush().await;
        let path = self.facts.path.clone().filter(|path| path.exists());
        let path = path.ok_or_else(missing)?;
        crate::handlers::load(path).await
    }

    /// A client resumes the thread although it is loaded.
    async fn join(&mut self, params: &ThreadResumeParams, reply: Responder<method::ThreadResume>) {
        let id = self.thread.id();
        if self.is_closing {
            let message =
                format!("thread {id} is closing; retry thread/resume after the thread is closed");
            return reply.refuse(Failure::invalid(message));
        }
        if let Err(failure) = self.fits(params) {
            return reply.refuse(failure);
        }
        match self.read_file().await {
            Ok((path, loaded)) => {
                let (mut thread, turns) = stored_thread(&path, loaded, self.status());
                add_said(&self.server, &mut thread).await;
                let connection = Arc::clone(reply.connection());
                let running = self.fold.running_turn();
                let mut resumed = self.facts.resumed(thread);
                let asked = params.initial_turns_page.clone();
                match first_page(&self.server, path, running.clone(), asked).await {
                    Ok(page) => resumed.initial_turns_page = page,
                    Err(failure) => return reply.refuse(failure),
                }
                match params.exclude_turns {
                    true => reply.accept(&resumed),
                    false => reply.accept_with(&resumed, &turns.with_running(running)),
                }
                self.subscribe(&connection);
                self.ask_again(&connection);
                self.share_agents(&connection).await;
            }
            Err(failure) => reply.refuse(failure),
        }
    }

    /// Whether a request to resume can mean this thread.
    fn fits(&self, params: &ThreadResumeParams) -> Result<(), Failure> {
        let id = self.thread.id();
        if params.history.is_some() {
            let message =
                format!("cannot resume thread {id} with history while it is already running");
            return Err(Failure::invalid(message));
        }
        let (Some(asked), Some(own)) = (&params.path, &self.facts.path) else {
            return Ok(());
        };
        let folder = std::env::current_dir().unwrap_or_default();
        if is_same_file(&folder.join(asked), own) {
            return Ok(());
        }
        let own = own.display();
        Err(Failure::invalid(format!(
            "cannot resume running thread {id} with mismatched path: requested `{asked}`, active `{own}`"
        )))
    }

    fn leave(&mut self, connection: ConnectionId) -> ThreadUnsubscribeStatus {
        match self.subscribers.remove(&connection) {
            Some(_) => ThreadUnsubscribeStatus::Unsubscribed,
            None => ThreadUnsubscribeStatus::NotSubscribed,
        }
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    one == other || canonical(one) == canonical(other)
}

fn closed(error: codex_core::Closed) -> Failure {
    Failure::internal(error.to_string())
}

/// What a turn changes for itself and those after it; none if it changes nothing.
fn change_of_settings(params: &TurnStartParams) -> Result<Option<OverrideTurnContext>, Failure> {
    let sandbox = match (&params.sandbox_policy, &params.permissions) {
        (Some(_), Some(_)) => {
            let message = "`permissions` cannot be combined with `sandboxPolicy`";
            return Err(Failure::invalid(message));
        }
        (None, Some(name)) => Some(built_in_sandbox(name)?),
        (policy, None) => policy.clone().map(engine_sandbox),
    };
    let change = OverrideTurnContext {
        cwd: params.cwd.clone(),
        approval_policy: params.approval_policy.clone().map(engine_approval),
        approvals_reviewer: params.approvals_reviewer.map(engine_reviewer),
        sandbox_policy: sandbox,
        windows_sandbox_level: None,
        model: params.model.clone(),
        effort: params.effort.clone().map_or(Update::Leave, Update::Set),
        summary: params.summary,
        service_tier: params.service_tier.clone(),
        collaboration_mode: params.collaboration_mode.clone(),
        personality: params.personality,
    };
    Ok((change != OverrideTurnContext::default()).then_some(change))
}

/// Clients read from the data which kind of turn it is.
fn not_steerable(error: &SteerError, kind: TaskKind) -> Failure {
    let turn_kind = match kind {
        TaskKind::Review => NonSteerableTurnKind::Review,
        TaskKind::Compact => NonSteerableTurnKind::Compact,
        TaskKind::Regular | TaskKind::UserShell | TaskKind::Undo => {
            return Failure::invalid(error.to_string());
        }
    };
    let info = CodexErrorInfo::ActiveTurnNotSteerable { turn_kind };
    let data = turn_error(&error.to_string(), Some(&info), None);
    Failure::invalid(error.to_string()).with_data(json!(data))
}
