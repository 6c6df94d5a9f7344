//! Runs git, hardened and with a time limit.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_exec::{ExitStatus, Launch, OutputStream, StreamSetup};
use codex_git::private_git_dir::{self, InitialIndex, PrivateGitDir, Repository};
use codex_git::safe_command;
use codex_sandbox::LaunchPlan;
use futures::StreamExt;

use crate::ports::{Clock, Processes};
use crate::session_context::SessionContext;

/// The default time limit of a command.
const WAIT_LIMIT: Duration = Duration::from_secs(20);
/// The maximum size of an output.
const LIMIT: usize = 16 * 1024 * 1024;

/// The git program in one folder.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    processes: Arc<dyn Processes>,
    clock: Arc<dyn Clock>,
    environment: Vec<(OsString, OsString)>,
    folder: PathBuf,
    /// For private git folders.
    scratch: PathBuf,
    wait_limit: Duration,
}

impl Git {
    pub(crate) fn new(session: &SessionContext, folder: &Path) -> Self {
        let given = session.config.environment.iter();
        let given = given.map(|(name, value)| (name.clone(), value.clone()));
        Self {
            processes: Arc::clone(&session.processes),
            clock: Arc::clone(&session.clock),
            environment: safe_command::environment(given).collect(),
            folder: folder.to_owned(),
            scratch: session.config.home.clone(),
            wait_limit: WAIT_LIMIT,
        }
    }

    /// The same with another time limit.
    pub(crate) fn with_wait_limit(mut self, wait_limit: Duration) -> Self {
        self.wait_limit = wait_limit;
        self
    }

    /// Git in the same folder with a private git folder, which must outlive it. The configuration of the
    /// repository does not apply. For commands that change files.
    pub(crate) async fn private(&self, index: InitialIndex) -> Option<(Self, PrivateGitDir)> {
        let places = self.run(&private_git_dir::LOCATION_COMMAND).await?;
        let settings = self.run(&private_git_dir::SETTINGS_COMMAND).await;
        let repository = Repository::read(&self.folder, &places, &settings.unwrap_or_default())?;
        let git_dir = PrivateGitDir::create(&repository, &self.scratch, index);
        let git_dir = git_dir
            .inspect_err(|error| tracing::warn!(%error, "no folder for git to work with"))
            .ok()?;
        let git = Self {
            environment: git_dir.environment(&self.environment),
            ..self.clone()
        };
        Some((git, git_dir))
    }

    /// The same in another folder.
    pub(crate) fn at(self, folder: &Path) -> Self {
        let folder = folder.to_owned();
        Self { folder, ..self }
    }

    /// Git with one more environment variable.
    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the folder lies in a working tree.
    pub(crate) fn is_repository(&self) -> bool {
        codex_sandbox::marked_folder(&self.folder, ".git").is_some()
    }

    /// The id of the commit that a name resolves to.
    pub(crate) async fn commit(&self, name: &str) -> Option<String> {
        let name = format!("{name}^{{commit}}");
        self.line(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &name,
        ])
        .await
    }

    /// Whether one commit has something that another has not.
    pub(crate) async fn is_ahead(&self, one: &str, other: &str) -> bool {
        let range = format!("{other}..{one}");
        let count = self.line(&["rev-list", "--count", &range]).await;
        count.is_some_and(|count| count != "0")
    }

    /// The output of a command, if it is one line.
    pub(crate) async fn line(&self, arguments: &[&str]) -> Option<String> {
        let answer = String::from_utf8(self.run(arguments).await?).ok()?;
        let line = answer.trim();
        (!line.is_empty() && !line.contains('\n')).then(|| line.to_owned())
    }

    /// The output of a command that separates names by zero bytes. Names that are not UTF-8 are left out.
    pub(crate) async fn names(&self, arguments: &[&str]) -> Option<Vec<String>> {
        let answer = self.run(arguments).await?;
        let names = answer
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        let texts = names.filter_map(|name| std::str::from_utf8(name).ok());
        Some(texts.map(str::to_owned).collect())
    }

    fn program(&self) -> PathBuf {
        let path = self.environment.iter().find(|(name, _)| name == "PATH");
        safe_command::program(path.map(|(_, path)| path.as_os_str()), &self.folder)
    }

    /// The output of a command, if it succeeds and is not too long.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Option<Vec<u8>> {
        let launch = Launch {
            command: safe_command::command(&self.program(), arguments),
            cwd: self.folder.clone(),
            inherited: Arc::default(),
            environment: self.environment.clone(),
            streams: StreamSetup::OutputOnly,
            plan: LaunchPlan::Unconfined,
        };
        let asked = async {
            let mut process = self.processes.start(launch).await.ok()?;
            let mut answer = Vec::new();
            while let Some(chunk) = process.output.next().await {
                if chunk.stream == OutputStream::Stdout {
                    answer.extend_from_slice(&chunk.bytes);
                }
                if answer.len() > LIMIT {
                    return None;
                }
            }
            (process.owner.ended().await == ExitStatus::Code(0)).then_some(answer)
        };
        tokio::select! {
            biased;
            answer = asked => answer,
            () = self.clock.sleep(self.wait_limit) => None,
        }
    }
}
