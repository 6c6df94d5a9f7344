//! The settings of a thread. The session owns them; others watch them.

use std::sync::Arc;

use codex_protocol::{ThreadSettings, ThreadSettingsPatch};
use codex_session_base::ports::SessionInput;
use codex_session_base::thread::SettingsError;

use super::actor::SessionActor;
use super::call::ThreadCall;
use super::state::TurnOverrides;
use crate::turn::TurnScope;

/// Changes settings from the next turn on: all of them, or none if an administrator does not allow one. A relative folder is
/// resolved against that of the thread. Replies with the settings of the thread.
#[derive(Debug)]
pub struct UpdateSettings(pub ThreadSettingsPatch);

impl ThreadCall for UpdateSettings {
    type Reply = Result<Arc<ThreadSettings>, SettingsError>;

    fn observed(&self) -> Option<SessionInput> {
        Some(SessionInput::Settings(Box::new(self.0.clone())))
    }

    async fn run(self, session: &mut SessionActor) -> Self::Reply {
        session.change_settings(self.0)
    }
}

impl SessionActor {
    /// The current settings.
    pub(super) fn settings(&self) -> Arc<ThreadSettings> {
        Arc::clone(&self.settings.borrow())
    }

    /// Changes all settings of a patch, or none if the administrator forbids one.
    pub(super) fn change_settings(
        &mut self,
        patch: ThreadSettingsPatch,
    ) -> Result<Arc<ThreadSettings>, SettingsError> {
        let before = self.settings();
        let after = before.apply(patch, &before.cwd);
        if after == *before {
            return Ok(before);
        }
        if after.cwd.to_str().is_none() {
            return Err(SettingsError::UnnamedCwd(after.cwd));
        }
        let limits = &self.context.config.options.limits;
        let checked = limits.check(after.approval_policy, &after.sandbox_policy);
        checked.map_err(SettingsError::Forbidden)?;
        let after = Arc::new(after);
        self.settings.send_replace(Arc::clone(&after));
        if after.sandbox_policy != before.sandbox_policy {
            self.warn_about_network();
        }
        Ok(after)
    }

    /// The scope of a turn that starts now.
    pub(super) fn new_turn(&mut self, id: &str, mut overrides: TurnOverrides) -> TurnScope {
        overrides.realtime = self.realtime_mode();
        let settings = self.settings();
        self.base
            .scope(&settings, id, overrides, &mut self.tool_cache)
    }
}
