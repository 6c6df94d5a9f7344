//! The settings of a thread in its file: written when they change for clients that keep them, and taken over from there.

use codex_app_server_protocol::v2::{ThreadForkParams, ThreadResumeParams};
use codex_core::UpdateSettings;
use codex_protocol::{ThreadSettings, ThreadSettingsPatch, Update};
use codex_rollout::LineKind;
use jiff::Timestamp;
use serde_json::json;

use super::Actor;
use super::amend::amend;
use super::history::SETTINGS_APPLIED;
use super::requested_sandbox::named_sandbox;
use crate::blocking::blocking;

/// What a request to open a thread says itself about what the thread may do.
pub(crate) struct GivenPolicy {
    approval: bool,
    reviewer: bool,
    sandbox: bool,
}

impl GivenPolicy {
    fn of_resume(params: &ThreadResumeParams) -> Self {
        Self {
            approval: params.approval_policy.is_some(),
            reviewer: params.approvals_reviewer.is_some(),
            sandbox: params.sandbox.is_some() || params.permissions.is_some(),
        }
    }

    pub(crate) fn of_fork(params: &ThreadForkParams) -> Self {
        Self {
            approval: params.approval_policy.is_some(),
            reviewer: params.approvals_reviewer.is_some(),
            sandbox: params.sandbox.is_some() || params.permissions.is_some(),
        }
    }
}

/// What a thread with these settings may do, but for what is given otherwise.
fn allowed_by(stored: ThreadSettings, given: &GivenPolicy) -> ThreadSettingsPatch {
    ThreadSettingsPatch {
        approval_policy: (!given.approval).then_some(stored.approval_policy),
        approvals_reviewer: (!given.reviewer).then_some(stored.approvals_reviewer),
        sandbox_policy: (!given.sandbox).then_some(stored.sandbox_policy),
        permission_profile: stored.permission_profile.filter(|_| !given.sandbox),
        host_limits: stored.host_limits,
        ..ThreadSettingsPatch::default()
    }
}

impl Actor {
    /// Settings that were stored without the limits of their permissions have those of the configuration.
    fn with_host_limits(&self, mut stored: ThreadSettings) -> ThreadSettings {
        let named = stored.permission_profile.as_ref();
        if let Some(profile) = named.filter(|_| stored.host_limits.is_empty())
            && let Ok(found) = named_sandbox(&self.server, &profile.id, &stored.cwd)
        {
            stored.host_limits = found.host_limits;
        }
        stored
    }

    /// Takes the settings that a client has changed before the thread was loaded, but for those that it gives now.
    pub(crate) async fn restore_settings(
        &mut self,
        stored: ThreadSettings,
        params: &ThreadResumeParams,
    ) {
        self.stored_settings = Some(stored.clone());
        let stored = self.with_host_limits(stored);
        let now = self.thread.settings();
        let mut mode = stored.collaboration_mode();
        mode.settings.model.clone_from(&now.model);
        mode.settings.reasoning_effort.clone_from(&now.effort);
        self.take_over(ThreadSettingsPatch {
            cwd: Some(stored.cwd.clone())
                .filter(|cwd| params.cwd.is_none() && codex_mounts::is_dir(cwd)),
            summary: stored.summary,
            service_tier: match (&params.service_tier, &stored.service_tier) {
                (Update::Leave, Some(tier)) => Update::Set(tier.clone()),
                _ => Update::Leave,
            },
            personality: stored.personality.filter(|_| params.personality.is_none()),
            collaboration_mode: Some(mode),
            without_environment: Some(stored.without_environment),
            environments: Some(stored.environments.clone()),
            ..allowed_by(stored, &GivenPolicy::of_resume(params))
        })
        .await;
    }

    /// What a fork takes over from its source besides the folder: what it may do.
    pub(crate) async fn inherit_settings(&self, source: ThreadSettings, given: &GivenPolicy) {
        self.take_over(allowed_by(source, given)).await;
    }

    async fn take_over(&self, patch: ThreadSettingsPatch) {
        if let Err(error) = self.thread.call(UpdateSettings(patch)).await {
            tracing::warn!(%error, "the settings of a thread are not allowed any more");
        }
    }

    /// Adds the settings that a turn has changed to the file of the thread.
    pub(super) async fn store_settings_of(&mut self, turn: &str) {
        let mut subscribers = self.subscribers.values();
        let keeps_settings = subscribers.any(|one| one.connection.dialect().keeps_settings());
        let settings = self.thread.settings();
        if keeps_settings && self.is_kept() && self.stored_settings.as_ref() != Some(&settings) {
            self.write_settings(&settings, Some(turn)).await;
        }
    }

    /// Adds the settings to the file of a thread that has had no turn.
    pub(crate) async fn store_first_settings(&mut self) {
        let settings = self.thread.settings();
        if self.facts.preview.is_empty() && self.is_kept() && self.stored_settings.is_none() {
            self.write_settings(&settings, None).await;
        }
    }

    /// Adds a change without a turn to the file of the thread.
    pub(crate) async fn store_settings(&mut self, settings: &ThreadSettings) {
        self.write_settings(settings, None).await;
    }

    /// Writes the settings in the form that other engines read.
    async fn write_settings(&mut self, settings: &ThreadSettings, turn: Option<&str>) {
        // A thread without a message has no file; its first turn stores the settings.
        let Some(path) = self.facts.path.clone().filter(|path| path.exists()) else {
            return;
        };
        self.stored_settings = Some(settings.clone());
        let (thread, home) = (
            self.thread.id().clone(),
            self.server.host().store().home().to_owned(),
        );
        let applied = json!({
            "type": SETTINGS_APPLIED,
            "thread_id": thread,
            // The turn that changed them, if one did.
            "turn_id": turn,
            "thread_settings": {
                "model": settings.model,
                "model_provider_id": settings.provider,
                "reasoning_effort": settings.effort,
                "approval_policy": settings.approval_policy,
                "approvals_reviewer": settings.approvals_reviewer,
                "cwd": settings.cwd,
                "collaboration_mode": settings.collaboration_mode(),
                "disabled_plugin_ids": settings.disabled_plugins,
            },
            "settings": settings,
        });
        let written = blocking(move || {
            amend(&home, &thread, Some(path), |path| {
                codex_rollout::amend(path, Timestamp::now(), LineKind::EventMsg, &applied)
            });
            Ok(())
        });
        drop(written.await);
    }
}
