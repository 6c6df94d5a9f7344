//! Copies of older releases, and of other programs in the home folder, that other users could read.
//!
//! What this process makes is private from the start. Each copy becomes so when this process uses it first.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

/// What this process has made private.
static MENDED_FOLDERS: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

/// Makes a copy private, and the folders around it below `home`. Links are left unchanged.
pub(crate) fn mend(home: &Path, copy: &Path) {
    let is_folder = |path: &Path| {
        let found = path.symlink_metadata();
        found.is_ok_and(|found| found.file_type().is_dir())
    };
    if !is_folder(copy) {
        return;
    }
    let mut mended = MENDED_FOLDERS.lock();
    let mended = mended.get_or_insert_default();
    if !mended.insert(copy.to_path_buf()) {
        return;
    }
    codex_private_files::tighten_tree(copy);
    let around = copy.ancestors().skip(1);
    let around = around.take_while(|folder| *folder != home && folder.starts_with(home));
    for folder in around {
        if mended.insert(folder.to_path_buf()) {
            codex_private_files::tighten(folder);
            // Unfinished work, and the lock.
            codex_private_files::tighten(&folder.join(".staging"));
            codex_private_files::tighten(&folder.join(".lock"));
        }
    }
}
