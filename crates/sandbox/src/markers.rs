//! What marks the root of a project or a repository, and what only looks like it.
//!
//! Whoever looks for `.git`, `.codex` or another marker asks here, because two things must not be
//! believed: a placeholder, which stands in for something absent while commands run, and anything in
//! a folder that everybody may write to, such as `/tmp`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

/// Names directly below a folder that decide what later runs there outside the sandbox.
pub(crate) const PROTECTED_NAMES: [&str; 3] = [".git", ".agents", ".codex"];

/// Whether a folder is marked by an entry of this name. Links are followed.
#[must_use]
pub fn has_marker(folder: &Path, name: &str) -> bool {
    let path = folder.join(name);
    path.exists() && !is_placeholder(&path) && !is_shared_folder(folder)
}

/// Whether there is an entry of this name in a folder, whatever it is and whoever made it, other than a
/// placeholder. For who has to see what other programs see.
#[must_use]
pub fn has_entry(folder: &Path, name: &str) -> bool {
    let path = folder.join(name);
    path.symlink_metadata().is_ok() && !is_placeholder(&path)
}

/// The nearest folder, this one or above, that is marked by an entry of this name.
#[must_use]
pub fn marked_folder<'a>(folder: &'a Path, name: &str) -> Option<&'a Path> {
    folder.ancestors().find(|folder| has_marker(folder, name))
}

/// Whether everybody may make entries in a folder, and so nobody can tell who did.
#[cfg(unix)]
#[must_use]
pub fn is_shared_folder(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const STICKY_AND_WRITABLE_BY_OTHERS: u32 = 0o1002;
    std::fs::metadata(folder).is_ok_and(|metadata| {
        metadata.mode() & STICKY_AND_WRITABLE_BY_OTHERS == STICKY_AND_WRITABLE_BY_OTHERS
    })
}

/// Whether everybody may make entries in a folder, and so nobody can tell who did.
#[cfg(not(unix))]
#[must_use]
pub fn is_shared_folder(_folder: &Path) -> bool {
    false
}

/// Whether a placeholder stands at a path.
fn is_placeholder(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    return crate::linux::is_placeholder_at(path);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        false
    }
}

/// Folders that this process has swept, as they were named. Their number is limited.
static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
const SWEPT_LIMIT: usize = 1024;

/// Removes placeholders that were left behind, by processes that were killed, in a folder and in those
/// above it. One that a command needs stays. Nothing happens from the second time on: what is left
/// behind in the life of this process is taken over by the next command.
pub fn sweep_placeholders_once(folder: &Path) {
    let mut swept = SWEPT.lock();
    if swept.contains(folder) {
        return;
    }
    if swept.len() < SWEPT_LIMIT {
        swept.insert(folder.to_path_buf());
    }
    drop(swept);
    remove_abandoned_placeholders(folder);
}

pub(crate) fn remove_abandoned_placeholders(folder: &Path) {
    let Ok(folder) = folder.canonicalize() else {
        return;
    };
    for path in protected_paths_around(&folder) {
        #[cfg(target_os = "linux")]
        crate::linux::remove_if_abandoned(&path);
        #[cfg(not(target_os = "linux"))]
        drop(path);
    }
}

/// The protected names in a folder and in those above it.
fn protected_paths_around(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let folders = folder.ancestors();
    folders.flat_map(|folder| PROTECTED_NAMES.map(|name| folder.join(name)))
}
