//! Markers of project and repository roots.
//!
//! Code that looks for `.git`, `.codex` or another marker must use this module, because two kinds of markers must be
//! ignored: placeholders, which exist only while commands run, and entries of a folder that everyone may write to, such as
//! `/tmp`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::platform::{is_placeholder_at, is_shared_folder, remove_if_abandoned};

/// Entries of a folder that affect what later runs outside the sandbox.
pub(crate) const PROTECTED_NAMES: [&str; 3] = [".git", ".agents", ".codex"];

/// Whether a folder has a valid marker with this name. Follows links.
#[must_use]
pub fn has_marker(folder: &Path, name: &str) -> bool {
    let path = folder.join(name);
    codex_mounts::exists(&path) && !is_placeholder_at(&path) && !is_shared_folder(folder)
}

/// Whether a folder has any entry with this name except a placeholder. For code that must see what other programs see.
#[must_use]
pub fn has_entry(folder: &Path, name: &str) -> bool {
    let path = folder.join(name);
    codex_mounts::symlink_metadata(&path).is_ok() && !is_placeholder_at(&path)
}

/// The nearest ancestor, or the folder itself, that has a valid marker with this name.
#[must_use]
pub fn marked_folder<'a>(folder: &'a Path, name: &str) -> Option<&'a Path> {
    folder.ancestors().find(|folder| has_marker(folder, name))
}

/// Folders that this process has swept, as they were named. Their number is limited.
static SWEPT_FOLDERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
const SWEPT_LIMIT: usize = 1024;

/// Removes placeholders of killed processes from a folder and its ancestors, once per folder and process. Placeholders in
/// use are kept. Those left behind later are reused by the next command.
pub fn sweep_placeholders_once(folder: &Path) {
    let mut swept = SWEPT_FOLDERS.lock();
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
    let Ok(folder) = codex_mounts::canonicalize(folder) else {
        return;
    };
    for path in protected_paths_around(&folder).filter(|path| codex_mounts::answers(path)) {
        remove_if_abandoned(&path);
    }
}

/// The protected names in a folder and its ancestors.
fn protected_paths_around(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let folders = folder.ancestors();
    folders.flat_map(|folder| PROTECTED_NAMES.map(|name| folder.join(name)))
}
