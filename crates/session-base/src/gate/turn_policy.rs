//! The policies of a turn, as the gate wants them.

use std::sync::Arc;

use codex_gate::TurnPolicy;
use codex_sandbox::{FileRules, PolicyContext};

use crate::config::{SessionConfig, policy_of, writing};
use crate::turn_settings::TurnSettings;

impl TurnSettings {
    /// What the gate decides by.
    pub fn turn_policy(&self, config: &SessionConfig) -> TurnPolicy {
        TurnPolicy {
            approval: self.approval_policy,
            policy: policy_of(&self.sandbox_policy),
            cwd: self.cwd.clone(),
            tmpdir: config.tmpdir(),
            environment: Arc::clone(&config.services.environment),
            shell: self.shell.clone(),
            inline_permissions: config.options.features.exec_permissions,
            restricted_token: config.options.restricted_token,
            network_limits: Arc::clone(&self.network_limits),
            engine: Arc::clone(&config.services.engine_files),
        }
    }
}

/// Prepares the folders of a session before its commands run: resolves its writable roots, and removes what
/// killed processes left behind.
pub fn prepare_folders(config: &SessionConfig) {
    codex_project_markers::sweep_placeholders_once(&config.options.settings.cwd);
    let policy = writing(policy_of(&config.options.settings.sandbox_policy));
    let policy_context = PolicyContext {
        tmpdir: config.tmpdir(),
        engine: Arc::clone(&config.services.engine_files),
        ..PolicyContext::in_folder(&config.options.settings.cwd)
    };
    FileRules::resolve_roots(&policy, &policy_context);
}
