//! Lines that are added to the rollout of a thread from outside of its session.

use std::io;
use std::path::{Path, PathBuf};

use codex_protocol::ThreadId;
use codex_rollout::ThreadLocks;

/// Adds a line to the rollout, unless another process writes it. The index has the change, so a failure is only
/// logged.
pub(crate) fn amend(
    home: &Path,
    id: &ThreadId,
    path: Option<PathBuf>,
    write: impl FnOnce(&Path) -> io::Result<()>,
) {
    let is_ours = ThreadLocks::of_home(home).other_holder(id).is_none();
    let Some(path) = path.filter(|_| is_ours) else {
        return;
    };
    if let Err(error) = write(&path) {
        tracing::warn!(path = %path.display(), %error, "a rollout does not say what was said of it");
    }
}
