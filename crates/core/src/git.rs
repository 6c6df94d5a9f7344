//! Questions to the git program, which runs nothing else and not for long.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_exec::{ExitStatus, Launch, Stream, Streams};
use codex_git::harmless;
use codex_sandbox::LaunchPlan;
use futures::StreamExt;

use crate::ports::{Clock, Processes};
use crate::session::Services;

/// How long a question may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How much of an answer is read.
const LIMIT: usize = 1024 * 1024;

/// The git program in one folder.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    processes: Arc<dyn Processes>,
    clock: Arc<dyn Clock>,
    environment: Vec<(OsString, OsString)>,
    folder: PathBuf,
}

impl Git {
    pub(crate) fn new(services: &Services, folder: &Path) -> Self {
        let given = services.config.environment.iter();
        let given = given.map(|(name, value)| (name.clone(), value.clone()));
        Self {
            processes: Arc::clone(&services.processes),
            clock: Arc::clone(&services.clock),
            environment: harmless::environment(given).collect(),
            folder: folder.to_owned(),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the folder lies in a working tree.
    pub(crate) fn is_repository(&self) -> bool {
        let mut folders = self.folder.ancestors();
        folders.any(|folder| folder.join(".git").exists())
    }

    /// The id of the commit that a name stands for.
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

    /// The answer to a question, if it is one line.
    pub(crate) async fn line(&self, arguments: &[&str]) -> Option<String> {
        let answer = self.ask(arguments).await?;
        let line = answer.trim();
        (!line.is_empty() && !line.contains('\n')).then(|| line.to_owned())
    }

    /// What git prints, if it ends well.
    async fn ask(&self, arguments: &[&str]) -> Option<String> {
        let launch = Launch {
            command: harmless::command(arguments).map(OsString::from).collect(),
            cwd: self.folder.clone(),
            environment: self.environment.clone(),
            streams: Streams::Output,
            plan: LaunchPlan::Unconfined,
        };
        let asked = async {
            let mut process = self.processes.start(launch).await.ok()?;
            let mut answer = Vec::new();
            while let Some(chunk) = process.output.next().await {
                if chunk.stream == Stream::Stdout && answer.len() < LIMIT {
                    answer.extend_from_slice(&chunk.bytes);
                }
            }
            let ended_well = process.owner.ended().await == ExitStatus::Code(0);
            ended_well.then(|| String::from_utf8(answer).ok()).flatten()
        };
        tokio::select! {
            biased;
            answer = asked => answer,
            () = self.clock.sleep(PATIENCE) => None,
        }
    }
}
