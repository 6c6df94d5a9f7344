//! Changes of the settings of a thread: read from requests, and shown to clients.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{
    self, ApprovalsReviewer, ThreadSettingsUpdatedNotification, TurnStartParams,
};
use codex_config::ConfigWarning;
use codex_projection::{
    engine_approval, engine_reviewer, is_shown_of, wire_settings, wire_warning,
    without_folders_elsewhere, without_read_limits,
};
use codex_protocol::{ThreadSettingsPatch, Update};

use super::requested_sandbox::{named_sandbox, requested_sandbox};
use super::{Actor, RequestedPlace};
use crate::failure::Failure;

/// The limit on plugins that a thread has switched off.
const MAX_DISABLED_PLUGINS: usize = 1000;

impl Actor {
    /// Remembers what clients call the place of commands.
    pub(crate) fn take_place(&mut self, place: RequestedPlace) {
        if place.is_given() {
            let cwd = self.thread.settings().cwd.clone();
            self.facts.place = Some(place.named(&cwd));
        }
    }

    /// The settings as clients see them.
    pub(crate) fn shown_settings(&self) -> v2::ThreadSettings {
        v2::ThreadSettings {
            cwd: self.facts.cwd(),
            environments: self.facts.environments(),
            ..wire_settings(&self.thread.settings())
        }
    }

    pub(crate) fn notify_settings(&self, mut thread_settings: v2::ThreadSettings) {
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
    pub(crate) fn patch_of(
        &self,
        params: &mut TurnStartParams,
    ) -> Result<ThreadSettingsPatch, Failure> {
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
}
