//! The settings of a thread, and changes to them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::configure_session::ConfigureSession;
use crate::op::{OverrideTurnContext, UserTurn};
use crate::path::normalize_path;
use crate::policy::{ApprovalsReviewer, AskForApproval, SandboxPolicy};
use crate::settings::{
    CollaborationMode, ModeKind, Personality, ReasoningEffort, ReasoningSummary, ServiceTier,
    Settings,
};
use crate::update::Update;
use crate::usage_limits::ThreadLimits;

/// Permissions that were chosen by their name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivePermissions {
    /// The name.
    pub id: String,
    /// The name of the permissions that these add to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
}

/// The name of this machine as an environment.
pub const LOCAL_ENVIRONMENT: &str = "local";

/// A machine on which a thread runs commands and works on files, and the folder there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentChoice {
    /// The name of the environment.
    pub id: String,
    /// The absolute folder, a path of that machine.
    pub cwd: String,
    /// The folders that belong to the work, if they are not the folder alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<String>,
    /// The shell there, if it was known when the environment was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
}

impl EnvironmentChoice {
    /// Whether it is this machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.id == LOCAL_ENVIRONMENT
    }
}

/// The settings of a thread that can change while it is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadSettings {
    /// The absolute working folder.
    pub cwd: PathBuf,
    pub model: String,
    /// The id of the model provider, which never changes.
    pub provider: String,
    /// The reasoning effort.
    pub effort: Option<ReasoningEffort>,
    /// The form of reasoning summaries.
    pub summary: Option<ReasoningSummary>,
    /// The service tier.
    pub service_tier: Option<ServiceTier>,
    /// The personality of the model.
    pub personality: Option<Personality>,
    /// The collaboration mode.
    pub mode: ModeKind,
    /// Replaces the built-in instructions of the mode.
    pub mode_instructions: Option<String>,
    pub approval_policy: AskForApproval,
    /// Who reviews approvals.
    pub approvals_reviewer: ApprovalsReviewer,
    /// The sandbox policy.
    pub sandbox_policy: SandboxPolicy,
    /// The permission name by which the sandbox policy was chosen.
    pub permission_profile: Option<ActivePermissions>,
    /// The settings that limit the network of the sandbox policy to certain hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_limits: Vec<String>,
    /// What its turns and agents may use.
    #[serde(default, skip_serializing_if = "ThreadLimits::is_empty")]
    pub limits: ThreadLimits,
    /// The ids of the plugins that are switched off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disabled_plugins: Vec<String>,
    /// Whether the model may not run commands and work on files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_environment: bool,
    /// The environments of the thread, the first of which is meant if none is named; empty for this machine alone, in the working
    /// folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environments: Vec<EnvironmentChoice>,
}

/// Changes to the settings of a thread. Absent fields do not change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadSettingsPatch {
    /// The working folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The reasoning effort.
    #[serde(skip_serializing_if = "Update::is_leave")]
    pub effort: Update<ReasoningEffort>,
    /// The form of reasoning summaries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<ReasoningSummary>,
    /// The service tier.
    #[serde(skip_serializing_if = "Update::is_leave")]
    pub service_tier: Update<ServiceTier>,
    /// The personality of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub personality: Option<Personality>,
    /// The collaboration mode. Takes precedence over `model` and `effort`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collaboration_mode: Option<CollaborationMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<AskForApproval>,
    /// Who reviews approvals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// The sandbox policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_policy: Option<SandboxPolicy>,
    /// The permission name of `sandbox_policy`; ignored without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_profile: Option<ActivePermissions>,
    /// The settings that limit the network of `sandbox_policy` to certain hosts; ignored without it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_limits: Vec<String>,
    /// Replaces all limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<ThreadLimits>,
    /// Replaces the plugins that are switched off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_plugins: Option<Vec<String>>,
    /// Whether the model may not run commands and work on files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_environment: Option<bool>,
    /// Replaces the environments of the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environments: Option<Vec<EnvironmentChoice>>,
}

impl ThreadSettings {
    /// Default settings.
    #[must_use]
    pub fn new(cwd: impl Into<PathBuf>, model: impl Into<String>) -> Self {
        Self {
            cwd: cwd.into(),
            model: model.into(),
            provider: "openai".to_owned(),
            effort: None,
            summary: None,
            service_tier: None,
            personality: None,
            mode: ModeKind::Default,
            mode_instructions: None,
            approval_policy: AskForApproval::default(),
            approvals_reviewer: ApprovalsReviewer::default(),
            sandbox_policy: SandboxPolicy::ReadOnly {
                access: Default::default(),
                network_access: false,
            },
            permission_profile: None,
            host_limits: Vec::new(),
            limits: ThreadLimits::default(),
            disabled_plugins: Vec::new(),
            without_environment: false,
            environments: Vec::new(),
        }
    }

    /// Applies changes. A relative folder starts at `base`.
    #[must_use]
    pub fn apply(&self, patch: ThreadSettingsPatch, base: &Path) -> Self {
        let ThreadSettingsPatch {
            cwd,
            model,
            effort,
            summary,
            service_tier,
            personality,
            collaboration_mode,
            approval_policy,
            approvals_reviewer,
            sandbox_policy,
            permission_profile,
            host_limits,
            limits,
            disabled_plugins,
            without_environment,
            environments,
        } = patch;
        let mut new = self.clone();
        if let Some(cwd) = cwd {
            new.cwd = normalize_path(&base.join(cwd));
        }
        match collaboration_mode {
            Some(CollaborationMode { mode, settings }) => {
                new.mode = mode;
                new.model = settings.model;
                new.effort = settings.reasoning_effort;
                new.mode_instructions = settings.developer_instructions;
            }
            None => {
                new.model = model.unwrap_or(new.model);
                effort.apply(&mut new.effort);
            }
        }
        new.summary = summary.or(new.summary);
        service_tier.apply(&mut new.service_tier);
        new.personality = personality.or(new.personality);
        new.approval_policy = approval_policy.unwrap_or(new.approval_policy);
        new.approvals_reviewer = approvals_reviewer.unwrap_or(new.approvals_reviewer);
        if let Some(policy) = sandbox_policy {
            // Clients repeat the policy that they were shown. That lifts no limit.
            if permission_profile.is_some() || policy != new.sandbox_policy {
                new.host_limits = host_limits;
            }
            new.sandbox_policy = policy;
            new.permission_profile = permission_profile;
        }
        new.limits = limits.unwrap_or(new.limits);
        new.disabled_plugins = disabled_plugins.unwrap_or(new.disabled_plugins);
        new.without_environment = without_environment.unwrap_or(new.without_environment);
        new.environments = environments.unwrap_or(new.environments);
        new
    }

    /// Whether commands run on this machine, if none is named.
    #[must_use]
    pub fn is_local_first(&self) -> bool {
        let first = self.environments.first();
        !self.without_environment && first.is_none_or(EnvironmentChoice::is_local)
    }

    /// The collaboration mode with its settings.
    #[must_use]
    pub fn collaboration_mode(&self) -> CollaborationMode {
        CollaborationMode {
            mode: self.mode,
            settings: Settings {
                model: self.model.clone(),
                reasoning_effort: self.effort.clone(),
                developer_instructions: self.mode_instructions.clone(),
            },
        }
    }
}

impl From<OverrideTurnContext> for ThreadSettingsPatch {
    fn from(change: OverrideTurnContext) -> Self {
        Self {
            cwd: change.cwd.map(PathBuf::from),
            model: change.model,
            effort: change.effort,
            summary: change.summary,
            service_tier: change.service_tier,
            personality: change.personality,
            collaboration_mode: change.collaboration_mode,
            approval_policy: change.approval_policy,
            approvals_reviewer: change.approvals_reviewer,
            sandbox_policy: change.sandbox_policy,
            permission_profile: None,
            host_limits: Vec::new(),
            limits: None,
            disabled_plugins: None,
            without_environment: None,
            environments: None,
        }
    }
}

/// A user turn contains all settings; without a mode it uses the default mode.
impl From<&UserTurn> for ThreadSettingsPatch {
    fn from(turn: &UserTurn) -> Self {
        let default_mode = || CollaborationMode {
            mode: ModeKind::Default,
            settings: Settings {
                model: turn.model.clone(),
                reasoning_effort: turn.effort.clone(),
                developer_instructions: None,
            },
        };
        Self {
            cwd: Some(PathBuf::from(&turn.cwd)),
            model: None,
            effort: Update::Leave,
            summary: turn.summary,
            service_tier: turn.service_tier.clone(),
            personality: turn.personality,
            collaboration_mode: Some(turn.collaboration_mode.clone().unwrap_or_else(default_mode)),
            approval_policy: Some(turn.approval_policy),
            approvals_reviewer: turn.approvals_reviewer,
            sandbox_policy: Some(turn.sandbox_policy.clone()),
            permission_profile: None,
            host_limits: Vec::new(),
            limits: None,
            disabled_plugins: None,
            without_environment: None,
            environments: None,
        }
    }
}

impl From<ConfigureSession> for ThreadSettingsPatch {
    fn from(configure: ConfigureSession) -> Self {
        Self {
            cwd: Some(PathBuf::from(configure.cwd)),
            model: configure.model,
            effort: configure
                .model_reasoning_effort
                .map_or(Update::Leave, Update::Set),
            summary: configure.model_reasoning_summary,
            approval_policy: configure.approval_policy,
            sandbox_policy: configure.sandbox_policy,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> ThreadSettings {
        ThreadSettings::new("/work", "first")
    }

    fn patched(patch: ThreadSettingsPatch) -> ThreadSettings {
        settings().apply(patch, Path::new("/base"))
    }

    #[test]
    fn an_empty_patch_changes_nothing() {
        assert_eq!(patched(ThreadSettingsPatch::default()), settings());
    }

    #[test]
    fn a_relative_folder_starts_at_the_base() {
        let cwd = |text: &str| {
            let cwd = Some(PathBuf::from(text));
            patched(ThreadSettingsPatch {
                cwd,
                ..Default::default()
            })
            .cwd
        };
        assert_eq!(cwd("sub"), Path::new("/base/sub"));
        assert_eq!(cwd("./sub/../../x/").as_os_str(), "/x");
        assert_eq!(cwd("").as_os_str(), "/base");
        assert_eq!(cwd("/other"), Path::new("/other"));
    }

    #[test]
    fn a_mode_wins_over_model_and_effort() {
        let mode = CollaborationMode {
            mode: ModeKind::Plan,
            settings: Settings {
                model: "planner".to_owned(),
                reasoning_effort: None,
                developer_instructions: Some("plan".to_owned()),
            },
        };
        let new = patched(ThreadSettingsPatch {
            model: Some("other".to_owned()),
            effort: Update::Set(ReasoningEffort::Low),
            collaboration_mode: Some(mode.clone()),
            ..Default::default()
        });
        assert_eq!(new.collaboration_mode(), mode);
        // A model alone stays in the mode.
        let new = new.apply(
            ThreadSettingsPatch {
                model: Some("other".to_owned()),
                ..Default::default()
            },
            Path::new("/"),
        );
        assert_eq!((new.model.as_str(), new.mode), ("other", ModeKind::Plan));
    }

    #[test]
    fn permission_profile_name_follows_the_policy() {
        let named = patched(ThreadSettingsPatch {
            sandbox_policy: Some(SandboxPolicy::DangerFullAccess),
            permission_profile: Some(ActivePermissions {
                id: ":danger-full-access".to_owned(),
                extends: None,
            }),
            ..Default::default()
        });
        assert!(named.permission_profile.is_some());
        let patch = ThreadSettingsPatch {
            sandbox_policy: Some(SandboxPolicy::DangerFullAccess),
            ..Default::default()
        };
        assert_eq!(named.apply(patch, Path::new("/")).permission_profile, None);
    }

    #[test]
    fn repeating_a_policy_keeps_its_host_limits() {
        let policy = SandboxPolicy::ReadOnly {
            access: Default::default(),
            network_access: false,
        };
        let limited = patched(ThreadSettingsPatch {
            sandbox_policy: Some(policy.clone()),
            permission_profile: Some(ActivePermissions {
                id: "some-hosts".to_owned(),
                extends: None,
            }),
            host_limits: vec!["a setting".to_owned()],
            ..Default::default()
        });
        let with_policy = |sandbox_policy| {
            let patch = ThreadSettingsPatch {
                sandbox_policy: Some(sandbox_policy),
                ..Default::default()
            };
            limited.apply(patch, Path::new("/")).host_limits
        };
        assert_eq!(with_policy(policy), ["a setting"]);
        assert!(with_policy(SandboxPolicy::DangerFullAccess).is_empty());
    }

    #[test]
    fn a_user_turn_without_a_mode_ends_plan_mode() {
        let turn: UserTurn = serde_json::from_value(serde_json::json!({
            "items": [], "cwd": "sub", "approval_policy": "never", "model": "m", "effort": "low",
            "sandbox_policy": { "type": "danger-full-access" },
        }))
        .unwrap();
        let planning = ThreadSettings {
            mode: ModeKind::Plan,
            ..settings()
        };
        let new = planning.apply(ThreadSettingsPatch::from(&turn), Path::new("/work"));
        assert_eq!(new.mode, ModeKind::Default);
        assert_eq!(new.cwd, Path::new("/work/sub"));
        assert_eq!(new.effort, Some(ReasoningEffort::Low));
    }
}
