//! Commands that a client runs itself, outside of any thread: no model, no approval, no history.
//! They run with the same environment, under the same sandbox and by the same launcher as those of
//! threads.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_exec::{
    CommandNetwork, Launch, Launcher, NetworkLog, SpawnError, SpawnedProcess, StreamSetup,
};
use codex_hidden_files::HiddenFiles;
use codex_protocol::SandboxPolicy;
use codex_sandbox::{
    ConfinementPolicy, EngineFiles, LaunchPlanError, NetworkLimits, NetworkMode, PolicyContext,
    SetUpError, effective_network,
};
use codex_session_base::config::{closed_network, policy_of, writing};

/// What the commands of a client run with.
#[derive(Clone, Debug)]
pub struct StandaloneCommands {
    /// Starts the processes.
    pub launcher: Launcher,
    /// The folder that relative folders of commands start at, and the default working folder.
    pub cwd: PathBuf,
    /// The environment of commands.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// The sandbox policy of commands that bring none.
    pub sandbox_policy: SandboxPolicy,
    /// What limits the network to certain hosts.
    pub network_limits: Arc<NetworkLimits>,
    /// The settings of permissions that limit it for commands with `sandbox_policy`.
    pub host_limits: Vec<String>,
    /// The files that control the engine. Commands cannot change them.
    pub engine_files: Arc<EngineFiles>,
    /// Whether the user chose the sandbox of Windows.
    pub restricted_token: bool,
}

/// A command of a client.
#[derive(Clone, Debug)]
pub struct StandaloneCommand {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The folder to run in.
    pub cwd: Option<PathBuf>,
    /// Variables to set, and those without a value to unset.
    pub environment: BTreeMap<String, Option<String>>,
    /// The sandbox policy, if not the default one.
    pub sandbox_policy: Option<SandboxPolicy>,
    /// The settings of permissions that limit the network, if the policy is that of permissions.
    pub host_limits: Vec<String>,
    /// The standard streams.
    pub streams: StreamSetup,
    /// Notes which hosts it reached and did not reach.
    pub network_log: NetworkLog,
}

/// Why a command does not run.
#[derive(Debug, thiserror::Error)]
pub enum StandaloneError {
    /// The sandbox cannot be enforced.
    #[error("the sandbox cannot be enforced: {0}")]
    Refused(#[from] LaunchPlanError),
    /// The process cannot be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

impl StandaloneCommands {
    /// Starts a command.
    ///
    /// # Errors
    /// It does not run; never is it run with less of a sandbox than asked for.
    pub async fn start(
        &self,
        command: StandaloneCommand,
    ) -> Result<SpawnedProcess, StandaloneError> {
        let launch = self.launch(command)?;
        Ok(self.launcher.spawn(launch).await?)
    }

    /// Why a command has no network although its policy allows it.
    #[must_use]
    pub fn network_problem(&self, command: &StandaloneCommand) -> Option<String> {
        let policy = command.sandbox_policy.as_ref();
        closed_network(
            policy.unwrap_or(&self.sandbox_policy),
            &self.limits_of(command),
        )
    }

    fn limits_of(&self, command: &StandaloneCommand) -> NetworkLimits {
        let settings = match command.sandbox_policy {
            Some(_) => &command.host_limits,
            None => &self.host_limits,
        };
        NetworkLimits::clone(&self.network_limits).with_settings(settings)
    }

    /// Prepares the sandbox of Windows for commands in `cwd` that may write there.
    ///
    /// # Errors
    /// Commands cannot be confined to the folders of the policy.
    pub fn set_up_sandbox(&self, cwd: &Path, policy: &SandboxPolicy) -> Result<(), SetUpError> {
        let policy_context = PolicyContext {
            tmpdir: codex_sandbox::temporary_folder(&self.environment),
            engine: Arc::new(self.engine_files.for_another_session()),
            ..PolicyContext::in_folder(cwd)
        };
        codex_sandbox::set_up(&writing(policy_of(policy)), &policy_context)
    }

    /// What is hidden from a command. A client that runs one without a sandbox reads what it likes.
    fn hidden_files(&self, policy: &ConfinementPolicy) -> Arc<HiddenFiles> {
        match policy {
            ConfinementPolicy::DangerFullAccess | ConfinementPolicy::External { .. } => {
                Arc::default()
            }
            _ => Arc::clone(&self.engine_files.hidden_files),
        }
    }

    fn launch(&self, command: StandaloneCommand) -> Result<Launch, StandaloneError> {
        let limits = self.limits_of(&command);
        let cwd = command.cwd.map(|cwd| self.cwd.join(cwd));
        let cwd = cwd.unwrap_or_else(|| self.cwd.clone());
        // A sandbox needs an existing folder; without one, the error is that of the command.
        codex_mounts::metadata(&cwd).map_err(SpawnError::Command)?;
        let policy = command.sandbox_policy.as_ref();
        let policy = policy_of(policy.unwrap_or(&self.sandbox_policy));
        let mut environment = BTreeMap::clone(&self.environment);
        let mut policy_context = PolicyContext {
            // The client chooses the folder of each command.
            engine: Arc::new(self.engine_files.for_another_session()),
            network_limits: Arc::new(limits),
            hidden_files: self.hidden_files(&policy),
            ..PolicyContext::in_folder(&cwd)
        };
        let levels = codex_sandbox::probe().with_choice(self.restricted_token);
        let network = effective_network(&policy, &policy_context, levels.limits_hosts());
        if network == NetworkMode::Restricted {
            environment.insert("CODEX_SANDBOX_NETWORK_DISABLED".into(), "1".into());
        }
        for (name, value) in command.environment {
            match value {
                Some(value) => environment.insert(name.into(), value.into()),
                None => environment.remove(OsStr::new(&name)),
            };
        }
        policy_context.tmpdir = codex_sandbox::temporary_folder(&environment);
        let plan = codex_sandbox::plan(&policy, &policy_context, levels)?;
        Ok(Launch {
            command: command.command.into_iter().map(OsString::from).collect(),
            cwd,
            inherited: Arc::default(),
            environment: environment.into_iter().collect(),
            streams: command.streams,
            plan,
            network: CommandNetwork {
                log: command.network_log,
                ..CommandNetwork::default()
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use codex_sandbox::LaunchPlan;

    use super::*;

    fn commands() -> StandaloneCommands {
        StandaloneCommands {
            launcher: Launcher::with_helper("/nowhere"),
            cwd: PathBuf::from("/usr"),
            environment: Arc::new(BTreeMap::from([
                ("KEPT".into(), "1".into()),
                ("GONE".into(), "1".into()),
            ])),
            sandbox_policy: SandboxPolicy::DangerFullAccess,
            network_limits: Arc::default(),
            host_limits: Vec::new(),
            engine_files: Arc::default(),
            restricted_token: false,
        }
    }

    fn command() -> StandaloneCommand {
        StandaloneCommand {
            command: vec!["true".to_owned()],
            cwd: None,
            environment: BTreeMap::new(),
            sandbox_policy: None,
            host_limits: Vec::new(),
            streams: StreamSetup::OutputOnly,
            network_log: NetworkLog::default(),
        }
    }

    #[test]
    fn variables_are_set_and_unset() {
        let mut command = command();
        command.environment = BTreeMap::from([
            ("GONE".to_owned(), None),
            ("NEW".to_owned(), Some("2".to_owned())),
        ]);
        let launch = commands().launch(command).unwrap();
        let expected = [("KEPT", "1"), ("NEW", "2")];
        assert_eq!(
            launch.environment,
            expected.map(|(name, value)| (name.into(), value.into()))
        );
        assert_eq!(launch.plan, LaunchPlan::Unconfined);
    }

    #[test]
    fn relative_command_folder_has_to_exist() {
        let mut command = command();
        command.cwd = Some("bin".into());
        let launch = commands().launch(command.clone()).unwrap();
        assert_eq!(launch.cwd, PathBuf::from("/usr/bin"));
        command.cwd = Some("no-such-folder".into());
        let error = commands().launch(command).unwrap_err();
        assert!(error.to_string().starts_with("No such file"), "{error}");
    }
}
