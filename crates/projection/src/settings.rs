//! Converts the settings of a thread to the wire.

use codex_app_server_protocol::v2::{self, ActivePermissionProfile, ThreadEnvironment};
use codex_protocol::{
    self as v1, AbsolutePathBuf, CollaborationMode, EnvironmentChoice, LOCAL_ENVIRONMENT, ModeKind,
    Personality, ThreadSettings,
};

use super::{wire_approval, wire_reviewer, wire_sandbox, wire_thread_limits, without_read_limits};

/// The settings of the next turn. Every reply and notification about settings contains this.
pub fn wire_settings(settings: &ThreadSettings) -> v2::ThreadSettings {
    let profile = settings.permission_profile.clone();
    let mut sandbox_policy = wire_sandbox(settings.sandbox_policy.clone());
    if profile.is_some() {
        sandbox_policy = without_read_limits(sandbox_policy);
    }
    v2::ThreadSettings {
        cwd: settings.cwd.display().to_string(),
        environments: environments(settings),
        approval_policy: wire_approval(settings.approval_policy),
        approvals_reviewer: wire_reviewer(settings.approvals_reviewer),
        sandbox_policy: with_folders_elsewhere(sandbox_policy, settings),
        active_permission_profile: profile.map(|profile| ActivePermissionProfile {
            id: profile.id,
            extends: profile.extends,
        }),
        model: settings.model.clone(),
        model_provider: settings.provider.clone(),
        service_tier: settings.service_tier.clone(),
        effort: settings.effort.clone(),
        collaboration_mode: effective_mode(settings),
        disabled_plugin_ids: settings.disabled_plugins.clone(),
        summary: settings.summary,
        // The default personality is that of the model.
        personality: settings
            .personality
            .filter(|tone| *tone != Personality::Pragmatic),
        multi_agent_mode: v2::MultiAgentMode::default(),
        limits: wire_thread_limits(&settings.limits),
    }
}

/// The mode with the instructions that it has for the model.
pub(crate) fn effective_mode(settings: &ThreadSettings) -> CollaborationMode {
    let mut mode = settings.collaboration_mode();
    if mode.mode == ModeKind::Plan {
        let instructions = &mut mode.settings.developer_instructions;
        instructions.get_or_insert_with(|| codex_core::plan_mode_instructions().to_owned());
    }
    mode
}

/// Changed settings with the instructions of the default mode, if the thread has left another mode for it.
pub fn with_instructions(mut changed: v2::ThreadSettings, before: ModeKind) -> v2::ThreadSettings {
    let mode = &mut changed.collaboration_mode;
    if before != ModeKind::Default && mode.mode == ModeKind::Default {
        let instructions = &mut mode.settings.developer_instructions;
        instructions.get_or_insert_with(|| codex_core::default_mode_instructions().to_owned());
    }
    changed
}

/// The environments of a thread. Without others it is its folder on this machine.
pub fn environments(settings: &ThreadSettings) -> Vec<ThreadEnvironment> {
    if settings.without_environment {
        return Vec::new();
    }
    if settings.environments.is_empty() {
        let cwd = settings.cwd.display().to_string();
        return vec![ThreadEnvironment {
            environment_id: LOCAL_ENVIRONMENT.to_owned(),
            runtime_workspace_roots: vec![cwd.clone()],
            cwd,
        }];
    }
    let shown = |choice: &EnvironmentChoice| ThreadEnvironment {
        environment_id: choice.id.clone(),
        cwd: choice.cwd.clone(),
        runtime_workspace_roots: match &choice.roots[..] {
            [] => vec![choice.cwd.clone()],
            roots => roots.to_vec(),
        },
    };
    settings.environments.iter().map(shown).collect()
}

/// A sandbox policy as clients are shown it: on another machine its folders may be written.
fn with_folders_elsewhere(
    mut policy: v2::SandboxPolicy,
    settings: &ThreadSettings,
) -> v2::SandboxPolicy {
    if settings.is_local_first() {
        return policy;
    }
    if let v2::SandboxPolicy::WorkspaceWrite { writable_roots, .. } = &mut policy
        && let Some(first) = environments(settings).into_iter().next()
    {
        writable_roots.extend(
            first
                .runtime_workspace_roots
                .into_iter()
                .map(AbsolutePathBuf),
        );
    }
    policy
}

/// A sandbox policy of a client without the folders of other machines, which it may have been shown: here they mean nothing.
pub fn without_folders_elsewhere(
    mut policy: v1::SandboxPolicy,
    settings: &ThreadSettings,
) -> v1::SandboxPolicy {
    if let v1::SandboxPolicy::WorkspaceWrite { writable_roots, .. } = &mut policy {
        let elsewhere = settings.environments.iter().filter(|one| !one.is_local());
        let folders: Vec<&String> = elsewhere
            .flat_map(|one| one.roots.iter().chain([&one.cwd]))
            .collect();
        writable_roots.retain(|root| !folders.contains(&&root.0));
    }
    policy
}
