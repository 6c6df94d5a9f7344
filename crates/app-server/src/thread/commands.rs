//! Carries out the requests to a loaded thread.

use std::collections::BTreeMap;
use std::sync::Arc;

use codex_app_server_protocol::v2::{
    self, ApprovalsReviewer, ThreadSettingsUpdateParams, ThreadSettingsUpdateResponse,
    ThreadSettingsUpdatedNotification, TurnInterruptParams, TurnInterruptResponse, TurnStartParams,
    TurnStartResponse, TurnSteerParams, TurnSteerResponse,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_config::ConfigWarning;
use codex_core::{NewTurn, SettingsError, SteerError, TaskKind, ToolOutput, TurnInput};
use codex_protocol::{
    CodexErrorInfo, NonSteerableTurnKind, Op, ServiceTier, ThreadSettings, ThreadSettingsPatch,
    Update,
};
use serde_json::json;

use super::requested_sandbox::{named_sandbox, requested_sandbox};
use super::{Actor, RequestedPlace, Snapshot, ThreadCommand};
use crate::connection::Responder;
use crate::failure::Failure;
use crate::first_turns::FirstTurn;
use codex_projection::{
    engine_approval, engine_input, engine_limits, engine_reviewer, engine_thread_limits,
    is_shown_of, turn_error, wire_settings, wire_warning, with_instructions,
    without_folders_elsewhere, without_read_limits,
};

/// The limit on plugins that a thread has switched off.
const MAX_DISABLED_PLUGINS: usize = 1000;

impl Actor {
    pub(super) async fn carry_out(&mut self, command: ThreadCommand) {
        match command {
            ThreadCommand::Start(params, first, reply) => {
                self.start_turn(*params, first, reply).await;
            }
            ThreadCommand::Continue(turn, reply) => self.continue_turn(&turn, reply).await,
            ThreadCommand::ContinueAsResumed => self.continue_as_resumed().await,
            ThreadCommand::Settings(params, reply) => self.update_settings(*params, reply).await,
            ThreadCommand::Steer(params, reply) => self.steer(params, reply).await,
            ThreadCommand::Interrupt(params, reply) => self.interrupt(&params, reply).await,
            ThreadCommand::Rollback(turns, reply) => self.roll_back(turns, reply).await,
            ThreadCommand::Review(target, reply) => self.review(target, reply).await,
            ThreadCommand::Revert(before, reply) => self.revert(&before, reply).await,
            ThreadCommand::Restore(params, reply) => self.restore(*params, reply).await,
            ThreadCommand::StartQueued(id, reply) => self.start_queued(id, reply).await,
            ThreadCommand::StartNext => {
                self.show_objective();
                self.start_next_turn().await;
            }
            ThreadCommand::ChargeGoal(turn, done) => {
                self.charge_goal_now(turn);
                let _ = done.send(());
            }
            ThreadCommand::Notify(notification) => self.notify(*notification),
            ThreadCommand::Submit(op, done) => {
                if self.thread.submit(op).await.is_ok() {
                    let _ = done.send(());
                }
            }
            ThreadCommand::Engine(reply) => drop(reply.send(self.thread.clone())),
            ThreadCommand::TimeoutPauses(reply) => {
                drop(reply.send(self.thread.timeout_pauses().clone()))
            }
            ThreadCommand::McpServers(servers) => {
                let _ = self.thread.set_mcp_servers(servers).await;
            }
            ThreadCommand::StoreSettings(reply) => {
                self.store_first_settings().await;
                let _ = reply.send(());
            }
            ThreadCommand::Join(params, reply) => self.join(&params, reply).await,
            ThreadCommand::Describe(reply) => {
                let _ = self.thread.flush().await;
                let thread = self.facts.thread(self.status());
                let running = self.fold.running_turn();
                let mcp_servers = self.mcp_servers.clone();
                let overrides = Arc::clone(&self.facts.overrides);
                let _ = reply.send(Snapshot {
                    thread,
                    running,
                    mcp_servers,
                    overrides,
                });
            }
            ThreadCommand::RealtimeItems(reply) => drop(reply.send(self.fold.realtime_items())),
            ThreadCommand::Subscribe(connection) => self.subscribe(&connection),
            ThreadCommand::SubscribeIfNone(connection) => {
                if self.subscribers.is_empty() {
                    self.subscribe(&connection);
                    self.ask_again(&connection);
                }
                self.share_agents(&connection).await;
            }
            ThreadCommand::Leave(connection, reply) => {
                let _ = reply.send(self.leave(connection));
            }
            ThreadCommand::Answer {
                from,
                question,
                answer,
            } => self.answer(from, question, answer.as_deref()).await,
            ThreadCommand::Close => self.close(),
            ThreadCommand::CloseIfUnused(reply) => {
                let is_unused = self.unloading.at.is_some() && !self.is_closing;
                if is_unused {
                    self.is_closed_silently = true;
                    self.close();
                }
                let _ = reply.send(is_unused);
            }
            ThreadCommand::CloseSilently => {
                self.is_closed_silently = true;
                self.close();
            }
        }
    }

    async fn start_turn(
        &mut self,
        params: TurnStartParams,
        first: FirstTurn,
        reply: Responder<method::TurnStart>,
    ) {
        let before = self.thread.settings();
        let shown_before = self.shown_settings();
        let root = params.root_turn_id.clone();
        let dialect = reply.connection().dialect();
        let id = uuid::Uuid::now_v7().to_string();
        match self.begin_turn(id, params, false).await {
            Ok(id) => {
                self.started_by_client();
                if self.facts.preview.is_empty() && self.facts.path.is_some() {
                    self.first_turn = Some(first.limited());
                }
                reply.accept(&TurnStartResponse {
                    turn: super::accepted_turn(id, root),
                });
                // Some clients set the mode with a turn and get no notification about it.
                let after = self.thread.settings();
                let in_old_mode = ThreadSettings {
                    mode: before.mode,
                    mode_instructions: before.mode_instructions.clone(),
                    ..(*after).clone()
                };
                let shown = self.shown_settings();
                let is_changed = if dialect.tells_changes_of_mode() {
                    shown != shown_before
                } else {
                    in_old_mode != *before
                };
                if is_changed {
                    self.notify_settings(with_instructions(shown, before.mode));
                }
                if dialect.keeps_settings() && after != before {
                    self.store_settings(&after).await;
                }
            }
            Err(failure) => reply.refuse(failure),
        }
    }

    /// Starts a turn, or adds the input to the running one. Returns the id of that turn.
    pub(super) async fn begin_turn(
        &mut self,
        id: String,
        mut params: TurnStartParams,
        is_queued: bool,
    ) -> Result<String, Failure> {
        let place = RequestedPlace::of_turn(&params);
        place.check(&self.server)?;
        let settings = self.patch_of(&mut params)?;
        let limits = params.limits.as_ref().map(engine_limits);
        let limits = limits.transpose().map_err(Failure::of_limits)?;
        let besides = params.additional_context.unwrap_or_default();
        let turn = NewTurn {
            id,
            root_turn_id: params.root_turn_id,
            settings,
            context: self.additional_context.take(besides),
            input: TurnInput {
                items: params.input.into_iter().map(engine_input).collect(),
                client_id: params.client_user_message_id,
                tool_output: params.tool_output.map(|answered| ToolOutput {
                    name: answered.name,
                    namespace: answered.namespace,
                    output: answered.output,
                }),
                is_kept: is_queued,
                ..TurnInput::default()
            },
            output_schema: params.output_schema,
            service_tier: params.service_tier_for_turn,
            limits: limits.unwrap_or_default(),
            metadata: given_metadata(
                params.responsesapi_client_metadata,
                params.responsesapi_client_metadata_patch,
            ),
            may_be_empty: true,
        };
        let started = self.thread.start_turn(turn).await;
        let id = started.map_err(Failure::of_start)?;
        self.turn.get_or_insert_with(|| id.clone());
        self.take_place(place);
        Ok(id)
    }

    async fn update_settings(
        &mut self,
        params: ThreadSettingsUpdateParams,
        reply: Responder<method::ThreadSettingsUpdate>,
    ) {
        let before = self.thread.settings();
        let shown_before = self.shown_settings();
        let limits = params.limits.as_ref().map(engine_thread_limits).transpose();
        let mut params: TurnStartParams = params.into();
        let place = RequestedPlace::of_turn(&params);
        let patch = limits.map_err(Failure::of_limits).and_then(|limits| {
            place.check(&self.server)?;
            let mut patch = self.patch_of(&mut params)?;
            if patch.service_tier == Update::Clear {
                patch.service_tier = Update::Set(ServiceTier::Default);
            }
            Ok(ThreadSettingsPatch { limits, ..patch })
        });
        let updated = match patch {
            Ok(patch) => self.thread.update_settings(patch).await.map_err(refused),
            Err(failure) => Err(failure),
        };
        match updated {
            Ok(after) => {
                self.take_place(place);
                if after != before {
                    self.store_settings(&after).await;
                }
                reply.accept(&ThreadSettingsUpdateResponse {});
                let shown = self.shown_settings();
                if shown != shown_before {
                    self.notify_settings(with_instructions(shown, before.mode));
                }
            }
            Err(failure) => reply.refuse(failure),
        }
    }

    /// Remembers what clients call the place of commands.
    fn take_place(&mut self, place: RequestedPlace) {
        if place.is_given() {
            let cwd = self.thread.settings().cwd.clone();
            self.facts.place = Some(place.named(&cwd));
        }
    }

    /// The settings as clients see them.
    fn shown_settings(&self) -> v2::ThreadSettings {
        v2::ThreadSettings {
            cwd: self.facts.cwd(),
            environments: self.facts.environments(),
            ..wire_settings(&self.thread.settings())
        }
    }

    fn notify_settings(&self, mut thread_settings: v2::ThreadSettings) {
        // Clients that know this notification know these names.
        if thread_settings.approvals_reviewer == ApprovalsReviewer::GuardianSubagent {
            thread_settings.approvals_reviewer = ApprovalsReviewer::AutoReview;
        }
        thread_settings.sandbox_policy = without_read_limits(thread_settings.sandbox_policy);
        let updated = ThreadSettingsUpdatedNotification {
            thread_id: self.thread.id().to_string(),
            thread_settings,
        };
        self.notify(ServerNotification::ThreadSettingsUpdated(updated));
    }

    /// The settings that a request changes. A relative folder is relative to that of the server.
    fn patch_of(&self, params: &mut TurnStartParams) -> Result<ThreadSettingsPatch, Failure> {
        let configuration = self.server.host().configuration();
        let place = RequestedPlace::of_turn(params);
        let new_cwd = place.folder().map(|cwd| configuration.folder(cwd));
        let cwd = new_cwd.clone();
        let cwd = cwd.unwrap_or_else(|| self.thread.settings().cwd.clone());
        let (mut permission_profile, mut host_limits) = (None, Vec::new());
        let sandbox_policy = match (params.sandbox_policy.take(), &params.permissions) {
            (Some(_), Some(_)) => {
                let message = "`permissions` cannot be combined with `sandboxPolicy`";
                return Err(Failure::invalid(message));
            }
            (None, Some(name)) => {
                let named = named_sandbox(&self.server, name, &cwd)?;
                if let Some(problem) = named.network_problem {
                    let warning = wire_warning(ConfigWarning::new(problem));
                    self.server
                        .broadcast(&ServerNotification::ConfigWarning(warning));
                }
                permission_profile = Some(named.active);
                host_limits = named.host_limits;
                Some(named.policy)
            }
            (policy, None) => {
                // What the client was shown does not lift limits that it was not shown.
                let in_force = self.thread.settings().sandbox_policy.clone();
                let policy = policy.map(requested_sandbox).transpose()?;
                let before = self.thread.settings();
                let policy = policy.map(|policy| without_folders_elsewhere(policy, &before));
                policy.filter(|policy| !is_shown_of(policy, &in_force))
            }
        };
        let disabled_plugins = params.disabled_plugin_ids.take();
        if disabled_plugins
            .as_ref()
            .is_some_and(|ids| ids.len() > MAX_DISABLED_PLUGINS)
        {
            let message = format!("`disabledPluginIds` has more than {MAX_DISABLED_PLUGINS} ids");
            return Err(Failure::invalid(message));
        }
        Ok(ThreadSettingsPatch {
            cwd: new_cwd,
            model: params.model.take(),
            effort: params.effort.take().map_or(Update::Leave, Update::Set),
            summary: params.summary.take(),
            service_tier: std::mem::take(&mut params.service_tier),
            personality: params.personality.take(),
            collaboration_mode: params.collaboration_mode.take(),
            approval_policy: params.approval_policy.take().map(engine_approval),
            approvals_reviewer: params.approvals_reviewer.take().map(engine_reviewer),
            sandbox_policy,
            permission_profile,
            host_limits,
            limits: None,
            disabled_plugins,
            without_environment: place.has_environment().map(|has| !has),
            environments: place.choices(),
        })
    }

    async fn steer(&mut self, params: TurnSteerParams, reply: Responder<method::TurnSteer>) {
        let said = TurnInput {
            items: params.input.into_iter().map(engine_input).collect(),
            client_id: params.client_user_message_id,
            ..TurnInput::default()
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
        // An empty id stands for the running turn.
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
                self.fold.interrupted_by_client(active);
                if self.thread.submit(Op::Interrupt).await.is_ok() {
                    self.interrupts.push(reply);
                }
            }
        }
    }
}

/// The metadata of a turn's requests, with changes.
fn given_metadata(
    given: Option<BTreeMap<String, String>>,
    patch: Option<BTreeMap<String, String>>,
) -> BTreeMap<String, String> {
    let mut metadata = given.unwrap_or_default();
    metadata.extend(patch.unwrap_or_default());
    metadata
}

fn refused(error: SettingsError) -> Failure {
    match error {
        SettingsError::Forbidden(reason) => Failure::invalid(reason.0),
        SettingsError::UnnamedCwd(_) => Failure::invalid(error.to_string()),
        SettingsError::Closed => Failure::internal(error.to_string()),
    }
}

/// The data tells clients which kind of turn it is.
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
