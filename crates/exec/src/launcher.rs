//! Starts commands.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::launch::{Launch, START_LIMIT, SpawnError};
use crate::platform::Backend;
use crate::process::SpawnedProcess;

/// Starts commands.
///
/// A program should have only one, because it may keep a helper process. While a command runs on Linux, empty folders are
/// placed at protected paths that do not exist, so that it cannot create them. The helper removes them after the last
/// command that needs them.
#[derive(Debug, Clone)]
pub struct Launcher {
    backend: Arc<Backend>,
}

impl Launcher {
    /// Uses this program as the helper. Its `main` must begin with
    /// [`run_helper_if_asked`](crate::run_helper_if_asked).
    #[must_use]
    pub fn of_this_program() -> Self {
        Self {
            backend: Arc::new(Backend::of_this_program()),
        }
    }

    /// Uses another program as the helper. Its `main` must begin with
    /// [`run_helper_if_asked`](crate::run_helper_if_asked).
    #[must_use]
    pub fn with_helper(program: impl Into<PathBuf>) -> Self {
        Self {
            backend: Arc::new(Backend::with_helper(program.into())),
        }
    }

    /// Starts a command. Dropping the future or its result kills the command.
    ///
    /// # Errors
    /// The command could not be started.
    pub async fn spawn(&self, launch: Launch) -> Result<SpawnedProcess, SpawnError> {
        if launch.command.is_empty() {
            return Err(SpawnError::EmptyCommand);
        }
        check_mounts(&launch).await?;
        tokio::time::timeout(START_LIMIT, self.backend.spawn(launch))
            .await
            .unwrap_or_else(|_| Err(SpawnError::TooSlow))
    }

    /// Waits until all commands of this launcher and its clones have ended and everything created for them is removed. The
    /// launcher can be used again.
    pub async fn close(&self) {
        self.backend.close().await;
    }
}

/// Refuses a command whose folder or program is on a file system that does not answer.
async fn check_mounts(launch: &Launch) -> Result<(), SpawnError> {
    if !codex_mounts::may_wait() {
        return Ok(());
    }
    let cwd = launch.cwd.clone();
    let program = launch.command.first().cloned().unwrap_or_default();
    let path = |(name, value): (&OsString, &OsString)| (name == "PATH").then(|| value.clone());
    let added = launch.environment.iter().rev();
    let mut variables = added
        .map(|(name, value)| (name, value))
        .chain(launch.inherited.iter());
    let search_path = variables.find_map(path).unwrap_or_default();
    let checking = tokio::task::spawn_blocking(move || {
        codex_mounts::check(&cwd)?;
        if program.as_encoded_bytes().contains(&b'/') {
            return codex_mounts::check(&cwd.join(program));
        }
        // As the program is searched.
        for folder in std::env::split_paths(&search_path) {
            let file = cwd.join(folder).join(&program);
            codex_mounts::check(&file)?;
            if file.exists() {
                break;
            }
        }
        Ok(())
    });
    let checked = checking.await.map_err(io::Error::other);
    let checked = checked.and_then(|checked| checked.map_err(io::Error::from));
    checked.map_err(SpawnError::Command)
}
