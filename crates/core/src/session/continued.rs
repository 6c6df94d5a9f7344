//! Continues the turn that had not ended when the process of the thread did.

use std::path::PathBuf;

use codex_protocol::{ThreadSettings, ThreadSettingsPatch, TurnContext, Update};
use codex_session_base::ports::SessionInput;
use codex_session_base::thread::{SettingsError, StartTurnError, TaskKind};
use tokio::sync::oneshot;

use super::actor::SessionActor;
use super::call::ThreadCall;
use super::state::TurnOverrides;
use crate::turn::{TurnScope, run_continued};

/// Continues the turn that had not ended when the process of the thread did. Replies before it goes on.
#[derive(Debug)]
pub struct ContinueTurn {
    /// The turn.
    pub turn: String,
    /// What differs from the settings that it had.
    pub settings: ThreadSettingsPatch,
    /// Gets whether it is continued.
    pub reply: oneshot::Sender<Result<(), StartTurnError>>,
}

impl ThreadCall for ContinueTurn {
    type Reply = ();

    fn observed(&self) -> Option<SessionInput> {
        Some(SessionInput::Continue {
            turn: self.turn.clone(),
            settings: Box::new(self.settings.clone()),
        })
    }

    async fn run(self, session: &mut SessionActor) {
        session.continue_turn(self).await;
    }
}

impl SessionActor {
    async fn continue_turn(&mut self, call: ContinueTurn) {
        let ContinueTurn {
            turn,
            settings,
            reply,
        } = call;
        let scope = match self.scope_of_unfinished(&turn, settings) {
            Ok(scope) => scope,
            Err(error) => return drop(reply.send(Err(error))),
        };
        let Some(unfinished) = self.unfinished.take() else {
            return;
        };
        let _ = reply.send(Ok(()));
        if let Some(servers) = self.other_servers.take() {
            self.start_mcp_servers(servers);
        }
        let body = |scope, conversation| run_continued(scope, conversation, unfinished);
        self.start(TaskKind::Regular, scope, body).await;
    }

    /// The turn keeps the settings that it had, whatever those of the thread are now.
    fn scope_of_unfinished(
        &mut self,
        turn: &str,
        patch: ThreadSettingsPatch,
    ) -> Result<TurnScope, StartTurnError> {
        let gone = || StartTurnError::NotUnfinished(turn.to_owned());
        let root_turn_id = match &self.unfinished {
            Some(unfinished) if unfinished.id() == turn => unfinished.started.root_turn_id.clone(),
            _ => return Err(gone()),
        };
        let context = self.idle().and_then(|idle| idle.reference.clone());
        let context = context.ok_or_else(gone)?;
        let claimed = self.context.emitter.claim();
        claimed.map_err(|error| StartTurnError::Claimed(error.to_string()))?;
        let schema = context.final_output_json_schema.clone();
        let limits = context.turn_limits.unwrap_or_default();
        let before = self.settings();
        let settings = with_context(&before, context).apply(patch, &before.cwd);
        let checked = (self.context.config.options.limits)
            .check(settings.approval_policy, &settings.sandbox_policy);
        checked.map_err(|error| StartTurnError::Settings(SettingsError::Forbidden(error)))?;
        let overrides = TurnOverrides {
            schema,
            root_turn_id,
            limits,
            ..TurnOverrides::default()
        };
        let base = &self.base;
        Ok(base.scope(&settings, turn, overrides, &mut self.tool_cache))
    }
}

/// The settings with those that a turn had.
fn with_context(settings: &ThreadSettings, context: TurnContext) -> ThreadSettings {
    let patch = ThreadSettingsPatch {
        cwd: Some(PathBuf::from(context.cwd)),
        model: Some(context.model),
        effort: context.effort.map_or(Update::Clear, Update::Set),
        summary: Some(context.summary),
        personality: context.personality,
        collaboration_mode: context.collaboration_mode,
        approval_policy: Some(context.approval_policy),
        sandbox_policy: Some(context.sandbox_policy),
        disabled_plugins: Some(context.disabled_plugin_ids),
        without_environment: Some(context.without_environment),
        environments: Some(context.environments),
        ..ThreadSettingsPatch::default()
    };
    settings.apply(patch, &settings.cwd)
}
