//! The policies of a turn, and what they mean for files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_hidden_files::PatternOwner;
use codex_protocol::{AskForApproval, PermissionProfile};
use codex_sandbox::{
    ConfinementPolicy, EnforcementLevels, EngineFiles, FileRules, Grants, LaunchPlan,
    LaunchPlanError, LimitedCommands, NetworkLimits, NetworkMode, PolicyContext, effective_network,
};

use super::decision::{Confinement, Permit};

/// The policies of a turn.
#[derive(Clone, Debug)]
pub struct TurnPolicy {
    pub approval: AskForApproval,
    pub policy: ConfinementPolicy,
    pub cwd: PathBuf,
    pub tmpdir: Option<PathBuf>,
    /// The environment of commands.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// The shell of the user.
    pub shell: PathBuf,
    /// Whether a command may ask for additional permissions.
    pub inline_permissions: bool,
    /// Whether the user chose the sandbox of Windows.
    pub restricted_token: bool,
    /// What limits the network to certain hosts.
    pub network_limits: Arc<NetworkLimits>,
    /// The files that control the engine, and what the writable roots resolved to.
    pub engine: Arc<EngineFiles>,
}

impl TurnPolicy {
    /// Whether commands may write anywhere.
    pub fn is_open(&self) -> bool {
        matches!(
            self.policy,
            ConfinementPolicy::DangerFullAccess | ConfinementPolicy::External { .. }
        )
    }

    /// Whether commands get the variable that says that the network is restricted.
    pub fn network_is_restricted(&self) -> bool {
        let policy_context = self.policy_context(Grants::default());
        let by_host = codex_sandbox::probe().limits_hosts();
        effective_network(&self.policy, &policy_context, by_host) == NetworkMode::Restricted
    }

    /// Why a command in the sandbox cannot be given the network, if it cannot.
    pub fn network_problem(&self) -> Option<String> {
        whole_network_problem(&self.network_limits, LimitedCommands::Confined)
    }

    /// Why a command of the model has no network without the sandbox either, if it has none.
    pub fn network_problem_outside(&self) -> Option<String> {
        whole_network_problem(&self.network_limits, LimitedCommands::OfModel)
    }

    pub fn may_ask_about_sandbox(&self) -> bool {
        match self.approval {
            AskForApproval::Never => false,
            AskForApproval::Granular(granular) => granular.sandbox_approval,
            _ => true,
        }
    }

    pub fn may_ask_for_permissions(&self) -> bool {
        match self.approval {
            AskForApproval::Never => false,
            AskForApproval::Granular(granular) => granular.request_permissions,
            _ => true,
        }
    }

    fn policy_context(&self, grants: Grants) -> PolicyContext {
        let tmpdir = self.tmpdir.clone();
        PolicyContext {
            tmpdir,
            grants,
            network_limits: Arc::clone(&self.network_limits),
            hidden_files: Arc::clone(&self.engine.hidden_files),
            engine: Arc::clone(&self.engine),
            ..PolicyContext::in_folder(&self.cwd)
        }
    }

    /// The file rules, if the policy confines files.
    pub fn file_rules(&self, grants: Grants) -> Option<FileRules> {
        FileRules::from_policy(&self.policy, &self.policy_context(grants))
    }

    /// Who hides a path, if it is hidden.
    pub fn hidden_by(&self, path: &Path) -> Option<PatternOwner> {
        let policy_context = self.policy_context(Grants::default());
        codex_sandbox::hidden_by(&self.policy, &policy_context, path)
    }

    /// Whether all of these paths, links resolved, may be written without approval.
    pub fn may_write(&self, paths: &[PathBuf], grants: Grants) -> bool {
        let policy_context = self.policy_context(Grants::default());
        let is_closed =
            |path: &PathBuf| codex_sandbox::is_ignore_file(&self.policy, &policy_context, path);
        if paths.iter().any(is_closed) {
            return false;
        }
        match self.file_rules(grants) {
            Some(rules) => paths.iter().all(|path| rules.may_write(path)),
            None => true,
        }
    }

    /// Whether a path may be read.
    pub fn may_read(&self, path: &Path, grants: Grants) -> bool {
        if self.hidden_by(path).is_some() {
            return false;
        }
        let Some(rules) = self.file_rules(grants) else {
            return true;
        };
        let readable = match &rules.read {
            codex_sandbox::ReadScope::Everything => true,
            codex_sandbox::ReadScope::Only(roots) => {
                roots.iter().any(|root| path.starts_with(root))
            }
        };
        readable && !rules.hides(path)
    }

    /// Whether the system can confine a command at all.
    pub fn can_confine(&self, grants: &Grants, levels: EnforcementLevels) -> bool {
        let policy_context = self.policy_context(grants.clone());
        let network = effective_network(&self.policy, &policy_context, levels.limits_hosts());
        let levels = levels.with_choice(self.restricted_token);
        levels.can_confine(network)
    }

    /// The plan for a launch that is permitted.
    ///
    /// # Errors
    /// The system cannot confine it so.
    pub fn plan(
        &self,
        permit: &Permit,
        levels: EnforcementLevels,
    ) -> Result<LaunchPlan, LaunchPlanError> {
        let levels = levels.with_choice(self.restricted_token);
        let unconfined = &ConfinementPolicy::DangerFullAccess;
        let confinement = &permit.confinement;
        let (policy, grants) = match confinement {
            Confinement::None | Confinement::OfPerson => (unconfined, Grants::default()),
            Confinement::Policy(grants) => (&self.policy, grants.clone()),
        };
        let mut policy_context = self.policy_context(grants);
        if *confinement == Confinement::OfPerson {
            policy_context.network_limits = Arc::new(self.network_limits.for_people());
            // What a person types is what the person wants to be read.
            policy_context.hidden_files = Arc::default();
        }
        if let Some(rules) = FileRules::from_policy(policy, &policy_context) {
            self.engine.granted_roots.add(&rules.writable);
        }
        codex_sandbox::plan(policy, &policy_context, levels)
    }
}

/// Why the whole network cannot be given, if it cannot.
fn whole_network_problem(limits: &NetworkLimits, commands: LimitedCommands) -> Option<String> {
    let settings = limits.settings(commands)?;
    let explanation = limits.explanation(commands);
    Some(explanation.unwrap_or_else(|| {
        format!("The network is limited to certain hosts by {settings}; just connect to a host.")
    }))
}

/// Permissions in the terms of the sandbox.
pub fn grants_of(profile: &PermissionProfile, cwd: &Path) -> Grants {
    let files = profile.file_system.clone().unwrap_or_default();
    let paths = |paths: Option<Vec<codex_protocol::AbsolutePathBuf>>| {
        paths
            .unwrap_or_default()
            .into_iter()
            .map(|path| cwd.join(path.0))
            .collect()
    };
    Grants {
        read: paths(files.read),
        write: paths(files.write),
        network: profile
            .network
            .and_then(|network| network.enabled)
            .unwrap_or(false),
    }
}
