//! Empty folders at paths that commands must not create. The system removes them when their last handle is closed, also if
//! this process is killed.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use windows_sys::Win32::Foundation::ERROR_SHARING_VIOLATION;
use windows_sys::Win32::Storage::FileSystem::{
    DELETE, FILE_ATTRIBUTE_HIDDEN, FILE_ATTRIBUTE_SYSTEM, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_DELETE_ON_CLOSE, FILE_FLAG_OPEN_REPARSE_POINT, FILE_SHARE_DELETE, FILE_SHARE_READ,
    FILE_SHARE_WRITE,
};

use super::security;
use crate::access::list::AccessEntry;

/// Tells placeholders from other empty folders, such as those of git, which are only hidden.
const ATTRIBUTES: u32 = FILE_ATTRIBUTE_HIDDEN | FILE_ATTRIBUTE_SYSTEM;
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
            Ok(()) => security::set_attributes(path, ATTRIBUTES)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        security::set_entries(path, entries)?;
        // What somebody else made meanwhile is protected, and stays.
        if is_placeholder_at(path) {
            let handle = open(path, SHARE_MODE)?;
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

/// Opens an empty folder so that the system removes it with its last handle.
fn open(path: &Path, share: u32) -> io::Result<File> {
    OpenOptions::new()
        .access_mode(DELETE)
        .share_mode(share)
        .custom_flags(
            FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_DELETE_ON_CLOSE,
        )
        .open(path)
}

pub(crate) fn is_placeholder_at(path: &Path) -> bool {
    let may_be = path.symlink_metadata().is_ok_and(|metadata| {
        metadata.is_dir() && metadata.file_attributes() & ATTRIBUTES == ATTRIBUTES
    });
    may_be
        && match std::fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            // Wine does not read a folder that somebody holds to remove it.
            Err(error) => error.raw_os_error() == Some(ERROR_SHARING_VIOLATION.cast_signed()),
        }
}

/// Removes a placeholder that nobody holds.
pub(crate) fn remove_if_abandoned(path: &Path) {
    if is_placeholder_at(path) {
        // An error means that it is in use: such a handle excludes others.
        drop(open(path, 0));
    }
}

#[cfg(test)]
mod tests {
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
        remove_if_abandoned(&path);
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
        security::set_attributes(&abandoned, ATTRIBUTES).unwrap();
        for path in [&abandoned, &own] {
            remove_if_abandoned(path);
        }
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
