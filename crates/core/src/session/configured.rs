//! Emits the configuration of a session.

use codex_protocol::{EventMsg, SessionConfiguredEvent, ThreadId};
use codex_session_base::config::closed_network;

use super::actor::SessionActor;

impl SessionActor {
    /// The first event of a session.
    pub(crate) fn emit_configured(
        &self,
        forked_from: Option<ThreadId>,
        initial_messages: Option<Vec<EventMsg>>,
        name: Option<String>,
    ) {
        let EventMsg::SessionConfigured(mut configured) = self.configured(initial_messages) else {
            return;
        };
        configured.forked_from_id = forked_from;
        configured.thread_name = name;
        self.context
            .emitter
            .emit("", EventMsg::SessionConfigured(configured));
    }

    /// Warns about hooks that cannot be used.
    pub(crate) fn warn_about_hooks(&self) {
        for warning in &self.context.config.options.hook_warnings {
            self.warn("", warning.clone());
        }
    }

    /// Warns if commands have no network although the policy allows it.
    pub(crate) fn warn_about_network(&self) {
        let limits = &self.context.config.options.network_limits;
        if let Some(reason) = closed_network(&self.settings().sandbox_policy, limits) {
            self.warn("", reason);
        }
    }

    pub(super) fn configured(&self, initial_messages: Option<Vec<EventMsg>>) -> EventMsg {
        let (config, settings) = (&self.context.config, self.settings());
        let path = self.context.emitter.log_path();
        let history = codex_rollout::message_history(&config.services.home);
        EventMsg::SessionConfigured(Box::new(SessionConfiguredEvent {
            session_id: self.context.emitter.thread().clone(),
            forked_from_id: None,
            thread_name: None,
            model: settings.model.clone(),
            model_provider_id: settings.provider.clone(),
            service_tier: settings.service_tier.clone(),
            approval_policy: settings.approval_policy,
            approvals_reviewer: settings.approvals_reviewer,
            sandbox_policy: settings.sandbox_policy.clone(),
            cwd: settings.cwd.display().to_string(),
            reasoning_effort: settings.effort.clone(),
            history_log_id: history.log_id,
            history_entry_count: history.entry_count,
            initial_messages,
            network_proxy: None,
            rollout_path: path.map(|path| path.display().to_string()),
        }))
    }
}
