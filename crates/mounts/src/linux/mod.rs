//! Linux: the table of mounts is `/proc/self/mountinfo`, which is read without access to any mount.

mod helper;
mod helpers;
mod table;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::no_answer::NoAnswer;
use walk::LastLink;

/// Whether the program that runs can be a helper.
static HAS_HELPER: AtomicBool = AtomicBool::new(false);

pub(super) fn serve_if_asked() {
    helper::serve_if_asked();
    HAS_HELPER.store(true, Ordering::Relaxed);
    // The file system of the program itself.
    trust(Path::new(helpers::THIS_PROGRAM));
}

pub(super) fn trust(path: &Path) {
    table::trust(path);
}

/// Whether a check may have to wait for a helper.
pub(super) fn may_wait() -> bool {
    HAS_HELPER.load(Ordering::Relaxed) && table::current().has_doubtful()
}

/// Whether it is known that there is no file system that may not answer.
pub(super) fn all_answer() -> bool {
    HAS_HELPER.load(Ordering::Relaxed) && !table::current().has_doubtful()
}

/// A mount of each file system that may not answer.
pub(super) fn doubtful_mounts() -> Vec<PathBuf> {
    table::current().doubtful_devices()
}

pub(super) fn is_doubtful(path: &Path) -> bool {
    may_wait() && walk::first_doubtful(&table::current(), path, LastLink::Follow).is_some()
}

pub(super) fn check(path: &Path) -> Result<(), NoAnswer> {
    check_with(path, LastLink::Follow)
}

/// Does not follow a link at the end.
pub(super) fn check_link(path: &Path) -> Result<(), NoAnswer> {
    check_with(path, LastLink::Keep)
}

/// Checks a path and what is mounted below it.
pub(super) fn check_below(path: &Path) -> Result<(), NoAnswer> {
    check(path)?;
    if !may_wait() {
        return Ok(());
    }
    // The path was checked, so this does not wait.
    let folder = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let below = table::current().doubtful_below(&folder);
    below.iter().try_for_each(|mount| check(mount))
}

fn check_with(path: &Path, last: LastLink) -> Result<(), NoAnswer> {
    if !may_wait() {
        return Ok(());
    }
    let Some(device) = walk::first_doubtful(&table::current(), path, last) else {
        return Ok(());
    };
    helpers::ask(device, path).map_err(|error| {
        tracing::warn!(path = %path.display(), %error, "a file system does not answer");
        NoAnswer(path.to_owned())
    })
}
