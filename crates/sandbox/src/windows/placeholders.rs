//! The placeholders that commands of this process need.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use codex_project_markers::{PLACEHOLDER_ATTRIBUTES, is_placeholder_at, open_placeholder};
use parking_lot::Mutex;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE,
};

use super::security;
use crate::access::list::AccessEntry;

const SHARE_MODE: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

/// The placeholders of this process and how many commands need each.
static HELD_FOLDERS: Mutex<BTreeMap<PathBuf, (File, usize)>> = Mutex::new(BTreeMap::new());

/// A placeholder that a command needs.
#[derive(Debug)]
pub(super) struct Placeholder(PathBuf);

impl Placeholder {
    /// Places an empty folder at `path`, or uses the one that is there.
    pub(super) fn hold(path: &Path, entries: &[AccessEntry]) -> io::Result<Self> {
        let mut held = HELD_FOLDERS.lock();
        if let Some((_, count)) = held.get_mut(path) {
            *count += 1;
            return Ok(Self(path.to_path_buf()));
        }
        match std::fs::create_dir(path) {
            Ok(()) => security::set_attributes(path, PLACEHOLDER_ATTRIBUTES)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        security::set_entries(path, entries)?;
        // What somebody else made meanwhile is protected, and stays.
        if is_placeholder_at(path) {
            let handle = open_placeholder(path, SHARE_MODE)?;
            held.insert(path.to_path_buf(), (handle, 1));
        }
        Ok(Self(path.to_path_buf()))
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        let mut held = HELD_FOLDERS.lock();
        if let Some((_, count)) = held.get_mut(&self.0) {
            *count -= 1;
            if *count == 0 {
                // Closes the handle while nobody else looks for it.
                held.remove(&self.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use codex_project_markers::sweep_placeholders_once;

    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let guard = tempfile::tempdir().unwrap();
        let path = dunce::canonicalize(guard.path()).unwrap();
        (guard, path)
    }

    #[test]
    fn the_last_command_that_needs_a_placeholder_removes_it() {
        let (_guard, folder) = folder();
        let path = folder.join(".git");
        let first = Placeholder::hold(&path, &[]).unwrap();
        let second = Placeholder::hold(&path, &[]).unwrap();
        assert!(is_placeholder_at(&path));
        sweep_placeholders_once(&folder);
        drop(first);
        assert!(is_placeholder_at(&path));
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn abandoned_placeholders_are_removed() {
        let (_guard, folder) = folder();
        let (abandoned, own) = (folder.join(".git"), folder.join(".codex"));
        for path in [&abandoned, &own] {
            std::fs::create_dir(path).unwrap();
        }
        security::set_attributes(&abandoned, PLACEHOLDER_ATTRIBUTES).unwrap();
        sweep_placeholders_once(&folder);
        assert!(!abandoned.exists() && own.exists());
    }

    #[test]
    fn placeholder_with_new_content_is_kept() {
        let (_guard, folder) = folder();
        let path = folder.join(".git");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("config"), "").unwrap();
        drop(Placeholder::hold(&path, &[]).unwrap());
        assert!(path.join("config").exists());
    }
}
