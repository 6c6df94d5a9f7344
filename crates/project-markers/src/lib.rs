//! Layer: foundation. What marks the root of a project or repository.
//!
//! Code that looks for `.git`, `.codex` or another marker must use this crate, because two kinds of markers must be
//! ignored: placeholders, which the sandbox puts in place of protected entries while commands run, and entries of a folder that
//! everyone may write to, such as `/tmp`.
//!
//! Code map: `linux`, `macos` and `windows` (placeholders; one of them is the module `platform`).

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(windows)]
mod windows;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
use macos as platform;
#[cfg(windows)]
use windows as platform;

#[cfg(target_os = "linux")]
pub use linux::{PlaceholderError, Placeholders};
pub use platform::is_placeholder_at;
#[cfg(windows)]
pub use windows::{PLACEHOLDER_ATTRIBUTES, open_placeholder};

use platform::remove_if_abandoned;

/// Entries of a folder that affect what later runs outside the sandbox.
pub const PROTECTED_NAMES: [&str; 3] = [".git", ".agents", ".codex"];

/// Whether a folder has a valid marker with this name. Follows links.
#[must_use]
pub fn has_marker(folder: &Path, name: &str) -> bool {
    let path = folder.join(name);
    codex_mounts::exists(&path) && !is_placeholder_at(&path) && !is_shared_folder(folder)
}

/// Whether everyone may create entries in a folder, so that their origin is unknown.
#[cfg(unix)]
#[must_use]
pub fn is_shared_folder(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    const STICKY_AND_WRITABLE_BY_OTHERS: u32 = 0o1002;
    codex_mounts::metadata(folder).is_ok_and(|metadata| {
        metadata.mode() & STICKY_AND_WRITABLE_BY_OTHERS == STICKY_AND_WRITABLE_BY_OTHERS
    })
}

/// Whether everyone may create entries in a folder. Access lists are not read: temporary folders belong to one user.
#[cfg(windows)]
#[must_use]
pub fn is_shared_folder(_: &Path) -> bool {
    false
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

fn remove_abandoned_placeholders(folder: &Path) {
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
