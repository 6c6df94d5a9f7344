//! The circumstances that hooks are told.

use std::path::Path;

use codex_hooks::{EventInput, Hook, HookInput, PermissionMode};
use codex_protocol::{AskForApproval, SandboxPolicy, SessionSource, SubAgentSource};
use serde_json::Value;

use crate::session_context::SessionContext;
use crate::turn_settings::TurnSettings;

/// The circumstances of an event.
#[derive(Clone, Copy, Debug)]
pub struct HookOccasion<'a> {
    pub session: &'a SessionContext,
    /// The turn; empty outside of turns.
    pub turn: &'a str,
    pub cwd: &'a Path,
    pub model: &'a str,
    pub approval_policy: AskForApproval,
    pub sandbox_policy: &'a SandboxPolicy,
    /// The ids of plugins whose hooks do not run.
    pub disabled_plugins: &'a [String],
}

impl<'a> HookOccasion<'a> {
    /// The circumstances of a turn.
    pub fn of_turn(session: &'a SessionContext, settings: &'a TurnSettings) -> Self {
        Self {
            session,
            turn: &settings.id,
            cwd: &settings.cwd,
            model: &settings.model.slug,
            approval_policy: settings.approval_policy,
            sandbox_policy: &settings.sandbox_policy,
            disabled_plugins: &settings.disabled_plugins,
        }
    }

    /// Whether a hook is of a plugin that is switched off.
    pub(super) fn disables(&self, hook: &Hook) -> bool {
        let plugin = hook.plugin.as_ref();
        plugin.is_some_and(|plugin| self.disabled_plugins.contains(&plugin.id))
    }

    /// The input of the hooks of an event.
    pub(super) fn input(&self, event: &EventInput<'_>) -> Value {
        let emitter = &self.session.emitter;
        let path = emitter.log_path().map(|path| path.display().to_string());
        let is_of_session = matches!(
            event,
            EventInput::SessionStart { .. } | EventInput::SessionEnd { .. }
        );
        let turn = Some(self.turn).filter(|turn| !turn.is_empty() && !is_of_session);
        let input = HookInput {
            session_id: parent_of(&self.session.config.identity.source)
                .unwrap_or_else(|| emitter.thread().as_str()),
            turn_id: turn,
            transcript_path: path.as_deref(),
            cwd: &self.cwd.display().to_string(),
            model: self.model,
            permission_mode: match self.approval_policy {
                AskForApproval::Never => PermissionMode::BypassPermissions,
                _ => PermissionMode::Default,
            },
        };
        input.json(event)
    }
}

/// The thread that started an agent.
fn parent_of(source: &SessionSource) -> Option<&str> {
    match source {
        SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
            parent_thread_id, ..
        }) => Some(parent_thread_id.as_str()),
        _ => None,
    }
}
