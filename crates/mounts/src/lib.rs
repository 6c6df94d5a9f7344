//! Layer: foundation. Whether the file system that a path leads to answers.
//!
//! A network or user-space file system can stop answering. Whoever then opens a path on it waits for ever, in most cases even
//! after a kill, so that a process with such a thread does not end. No time limit in the same process helps against that.
//! Therefore code that is about to use a path of a request, a project or a setting calls [`check`] first:
//!
//! - A path that stays on file systems of this machine passes without a wait: the table of mounts and the links on the way say so.
//! - Another path is tried by a helper process, for [`LIMIT`] at most. A helper that gets no answer is left behind, its file
//!   system counts as dead until the helper does get one, and all paths on it are refused at once meanwhile. So a dead file
//!   system costs one process, however many requests name it.
//!
//! The file systems of `/`, of the program and of the places that [`trust`] names are not tried: nothing works without them.
//! The functions of [`std::fs`] that are here check their paths. Code that meets paths of others uses them.
//!
//! A file system that dies between the check and the use is not noticed. There is a helper only in a program that begins with
//! [`serve_if_asked`], and only on Linux; elsewhere every path passes.

mod checked;
#[cfg(target_os = "linux")]
mod linux;
mod no_answer;
#[cfg(not(target_os = "linux"))]
mod other;

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(not(target_os = "linux"))]
use other as platform;

pub use checked::{
    canonicalize, exists, is_dir, is_file, metadata, read_dir, read_link, remove_dir_all,
    symlink_metadata,
};
pub use no_answer::{LIMIT, NoAnswer, is_no_answer};

/// Runs the helper and never returns, if this program was started as one. Must be called at the start of `main`, before any
/// thread is started; without it there are no checks.
pub fn serve_if_asked() {
    platform::serve_if_asked();
}

/// Never checks the file system of `path`, because nothing works without it.
pub fn trust(path: &Path) {
    platform::trust(path);
}

/// Whether any check may have to wait.
#[must_use]
pub fn may_wait() -> bool {
    platform::may_wait()
}

/// Whether a path leads to a file system that may not answer. It is not touched.
#[must_use]
pub fn is_doubtful(path: &Path) -> bool {
    platform::is_doubtful(path)
}

/// Fails if a path leads to a file system that does not answer. A path that does not exist passes. Waits for [`LIMIT`] at most,
/// once for a dead file system.
///
/// # Errors
/// It does not answer, or cannot be tried.
pub fn check(path: &Path) -> Result<(), NoAnswer> {
    platform::check(path)
}

/// Like [`check`], also for everything that is mounted below a folder. For work that enters all folders.
///
/// # Errors
/// The first one that does not answer.
pub fn check_below(path: &Path) -> Result<(), NoAnswer> {
    platform::check_below(path)
}

/// Like [`check`], without an error.
#[must_use]
pub fn answers(path: &Path) -> bool {
    check(path).is_ok()
}

/// Like [`check`] for several paths, without blocking the thread.
///
/// # Errors
/// The first one that does not answer.
pub async fn check_all(paths: Vec<PathBuf>) -> Result<(), NoAnswer> {
    if paths.is_empty() || !platform::may_wait() {
        return Ok(());
    }
    let first = paths.first().cloned().unwrap_or_default();
    let checking =
        tokio::task::spawn_blocking(move || paths.iter().try_for_each(|path| check(path)));
    checking.await.unwrap_or(Err(NoAnswer(first)))
}

/// Finds out which of all mounted file systems answer, so that later checks of paths on dead ones fail at once. For work that
/// meets paths of many origins, before it begins.
pub async fn try_all() {
    if !platform::may_wait() {
        return;
    }
    let trials: Vec<_> = (platform::doubtful_mounts().into_iter())
        .map(|mount| tokio::task::spawn_blocking(move || check(&mount)))
        .collect();
    for trial in trials {
        // What it found is known now.
        let _ = trial.await;
    }
}

/// Does work that looks at a few files: on this thread if every file system is known to answer, else on another one. None if it
/// panics.
pub async fn look_at_files<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if platform::all_answer() {
        return std::panic::catch_unwind(AssertUnwindSafe(work)).ok();
    }
    tokio::task::spawn_blocking(work).await.ok()
}

/// Like [`check`], without blocking the thread.
///
/// # Errors
/// It does not answer, or cannot be tried.
pub async fn check_async(path: &Path) -> Result<(), NoAnswer> {
    if !platform::may_wait() {
        return Ok(());
    }
    check_all(vec![path.to_owned()]).await
}
