//! Runs git, hardened and with a time limit.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_exec::{ExitStatus, Launch, OutputStream, StreamSetup};
use codex_git::safe_command;
use codex_sandbox::LaunchPlan;
use codex_session_base::ports::{Clock, Processes};
use codex_session_base::session_context::SessionContext;
use futures::StreamExt;

/// The time limit of a command.
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
}

impl Git {
    pub(crate) fn new(session: &SessionContext, folder: &Path) -> Self {
        let given = session.config.services.environment.iter();
        let given = given.map(|(name, value)| (name.clone(), value.clone()));
        Self {
            processes: Arc::clone(&session.processes),
            clock: Arc::clone(&session.clock),
            environment: safe_command::environment(given).collect(),
            folder: folder.to_owned(),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the folder lies in a working tree.
    pub(crate) fn is_repository(&self) -> bool {
        codex_project_markers::marked_folder(&self.folder, ".git").is_some()
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
            network: codex_exec::CommandNetwork::default(),
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
            () = self.clock.sleep(WAIT_LIMIT) => None,
        }
    }
}
