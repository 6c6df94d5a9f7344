//! Runs git with a time limit and an output limit.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

use crate::network_settings::NetworkSettings;
use crate::private_git_dir::{self, PrivateGitDir, Repository};
use crate::safe_command;

const TIMEOUT: Duration = Duration::from_secs(30);

const OUTPUT_LIMIT: usize = 64 * 1024 * 1024;

/// Why a git command has no result.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git cannot be started.
    #[error("cannot run git: {0}")]
    Program(#[from] std::io::Error),
    /// Git exited with an error.
    #[error("git {command} failed: {message}")]
    Failed { command: String, message: String },
    #[error("git {command} took too long")]
    TimedOut { command: String },
    /// The output exceeds the limit.
    #[error("git {command} printed too much output")]
    TooLong { command: String },
    /// The repository has no such information.
    #[error("{0}")]
    NoAnswer(&'static str),
}

/// Runs git in one folder.
#[derive(Debug)]
pub(crate) struct GitProgram {
    folder: PathBuf,
    environment: Vec<(OsString, OsString)>,
    timeout: Duration,
    /// Whether the options that are usual here are left out.
    has_own_options: bool,
}

impl GitProgram {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            environment: safe_command::environment(std::env::vars_os()).collect(),
            timeout: TIMEOUT,
            has_own_options: false,
        }
    }

    /// Runs git with the network and these settings alone. The caller gives all options.
    pub(crate) fn for_network(
        folder: &Path,
        timeout: Duration,
        settings: &NetworkSettings,
    ) -> Self {
        let environment = safe_command::network_environment(std::env::vars_os());
        let environment = safe_command::without_settings(environment).chain(settings.variables());
        Self {
            folder: folder.to_path_buf(),
            environment: environment.collect(),
            timeout,
            has_own_options: true,
        }
    }

    /// Runs git with all settings of the user, to read them.
    pub(crate) fn with_user_settings(folder: &Path) -> Self {
        Self {
            has_own_options: true,
            ..Self::in_folder(folder)
        }
    }

    /// Runs git without any settings but those of the repository. The caller gives all options.
    pub(crate) fn without_settings(folder: &Path, timeout: Duration) -> Self {
        let environment = safe_command::environment(std::env::vars_os());
        Self {
            folder: folder.to_path_buf(),
            environment: safe_command::without_settings(environment).collect(),
            timeout,
            has_own_options: true,
        }
    }

    /// Runs git with a private git folder.
    pub(crate) fn private(git_dir: &PrivateGitDir) -> Self {
        let given: Vec<_> = std::env::vars_os().collect();
        Self {
            folder: git_dir.top().to_path_buf(),
            environment: git_dir.environment(&given),
            timeout: TIMEOUT,
            has_own_options: false,
        }
    }

    /// The repository around the folder.
    pub(crate) async fn repository(&self) -> Result<Repository, GitError> {
        let places = self.run(&private_git_dir::LOCATION_COMMAND).await?;
        let settings = self.run(&private_git_dir::SETTINGS_COMMAND).await;
        let found = Repository::read(&self.folder, &places, &settings.unwrap_or_default());
        found.ok_or(GitError::NoAnswer("the repository is not of this folder"))
    }

    /// Runs a command and returns its standard output.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        self.run_with(arguments, None).await
    }

    /// The same with input.
    pub(crate) async fn run_with(
        &self,
        arguments: &[&str],
        input: Option<File>,
    ) -> Result<Vec<u8>, GitError> {
        let command = || name_of(arguments);
        self.check_folder().await?;
        // Dropping the future kills it.
        match tokio::time::timeout(self.timeout, self.answer(arguments, input)).await {
            Ok(answer) => answer,
            Err(_) => Err(GitError::TimedOut { command: command() }),
        }
    }

    /// Git enters every folder of a repository, and would wait for a file system that does not answer.
    async fn check_folder(&self) -> std::io::Result<()> {
        if !codex_mounts::may_wait() {
            return Ok(());
        }
        let folder = self.folder.clone();
        let checking = tokio::task::spawn_blocking(move || {
            codex_mounts::check(&folder)?;
            // As git searches.
            for around in folder.ancestors() {
                let git_dir = around.join(".git");
                codex_mounts::check(&git_dir)?;
                if git_dir.exists() {
                    return codex_mounts::check_below(around);
                }
            }
            codex_mounts::check_below(&folder)
        });
        Ok(checking.await.map_err(std::io::Error::other)??)
    }

    /// Runs a command and returns its output without the trailing line break.
    pub(crate) async fn line(&self, arguments: &[&str]) -> Result<String, GitError> {
        let output = self.run(arguments).await?;
        Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
    }

    async fn answer(&self, arguments: &[&str], input: Option<File>) -> Result<Vec<u8>, GitError> {
        let command = || name_of(arguments);
        let mut git = self.command(arguments);
        if let Some(input) = input {
            git.stdin(input);
        }
        let mut git = git.spawn()?;
        let (output, errors) = tokio::join!(
            read(git.stdout.take(), OUTPUT_LIMIT),
            read(git.stderr.take(), 64 * 1024)
        );
        let Some(output) = output? else {
            return Err(GitError::TooLong { command: command() });
        };
        let status = git.wait().await?;
        if status.success() {
            return Ok(output);
        }
        let message = errors?.unwrap_or_default();
        Err(GitError::Failed {
            command: command(),
            message: String::from_utf8_lossy(&message).trim().to_owned(),
        })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let program = safe_command::program(std::env::var_os("PATH").as_deref(), &self.folder);
        let mut command = Command::new(&program);
        if self.has_own_options {
            command.args(arguments);
        } else {
            let words = safe_command::command(&program, arguments);
            command.args(words.into_iter().skip(1));
        }
        command
            .env_clear()
            .envs(self.environment.iter().cloned())
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }
}

/// The name of a command, after its options.
fn name_of(arguments: &[&str]) -> String {
    let mut words = arguments
        .iter()
        .skip_while(|word| word.starts_with('-') || word.contains('='));
    words.next().copied().unwrap_or_default().to_owned()
}

/// Reads a stream to its end. `None` if it is longer than `limit`.
async fn read(
    stream: Option<impl AsyncRead + Unpin>,
    limit: usize,
) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        let mut limited = stream.take(limit as u64 + 1);
        limited.read_to_end(&mut bytes).await?;
    }
    Ok((bytes.len() <= limit).then_some(bytes))
}
