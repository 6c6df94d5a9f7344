//! A file name in a folder that is held open.
//!
//! Paths are checked before a patch is applied. If a background process then replaces a folder by a link, the patch must
//! not follow it. All actions therefore go through the open folder, which stays the one that was checked.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A file name in an open folder.
#[derive(Debug, Clone)]
pub(crate) struct FileLocation {
    /// The path for messages.
    pub(crate) path: PathBuf,
    /// The path through the open folder, for calls that do not follow a link in the last component.
    pub(crate) at: PathBuf,
}

impl FileLocation {
    /// Another name in the same folder.
    pub(crate) fn beside(&self, name: &str) -> Self {
        Self {
            path: self.path.with_file_name(name),
            at: self.at.with_file_name(name),
        }
    }
}

/// The open folders by path.
#[derive(Debug, Default)]
pub(crate) struct OpenFolders(HashMap<PathBuf, Option<File>>);

impl OpenFolders {
    /// The location of a real path. Its folder must exist and be reached without links.
    pub(crate) fn location(&mut self, path: &Path) -> io::Result<FileLocation> {
        codex_mounts::check(path)?;
        let mut at = path.to_owned();
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
            if !self.0.contains_key(folder) {
                self.0.insert(folder.to_owned(), open(folder)?);
            }
            if let Some(open) = self.0.get(folder).and_then(Option::as_ref) {
                at = through(open).join(name);
            }
        }
        let path = path.to_owned();
        Ok(FileLocation { path, at })
    }
}

#[cfg(target_os = "linux")]
fn open(folder: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::Errno;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(open) => Ok(Some(File::from(open))),
        // Linux before 5.6.
        Err(Errno::NOSYS) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(target_os = "linux")]
fn through(folder: &File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

/// On other systems commands are not sandboxed, so nothing is gained by an open folder.
#[cfg(not(target_os = "linux"))]
fn open(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

#[cfg(not(target_os = "linux"))]
fn through(_: &File) -> PathBuf {
    PathBuf::new()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn link_at_the_patched_folder_is_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let [inside, moved, outside] = ["inside", "moved", "outside"].map(|name| base.join(name));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        let mut folders = OpenFolders::default();
        let location = folders.location(&inside.join("file")).unwrap();
        fs::rename(&inside, &moved).unwrap();
        symlink(&outside, &inside).unwrap();
        fs::write(&location.at, "x").unwrap();
        fs::write(&location.beside("other").at, "x").unwrap();
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 2);
        assert!(
            OpenFolders::default()
                .location(&inside.join("file"))
                .is_err()
        );
    }
}
