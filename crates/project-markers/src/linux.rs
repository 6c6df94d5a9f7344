//! Prevents commands from creating protected paths that do not exist.
//!
//! Only an existing path can be made read-only. So while commands run, an empty folder is placed at such a path; inside the
//! sandbox it is read-only and cannot be removed or renamed. Every holder has a shared lock on it, and the last holder
//! removes it. A placeholder is recognized by its mode and by being empty. One that was left by a killed holder is reused
//! by the next holder, or removed when a session starts in its folder.
//!
//! A holder inside the namespaces cannot remove it, because it is a mount point there. So the last holder must be outside.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// The sticky bit has no meaning on a folder that only its owner can write, so users do not set both.
const MODE: u32 = 0o1755;

/// How often the lock is tried while another holder releases it, and the time between two attempts.
const TRIES: u32 = 100;
const BETWEEN_TRIES: Duration = Duration::from_millis(1);

/// The held placeholders. Dropping it removes those that have no other holder.
#[derive(Debug, Default)]
pub struct Placeholders {
    held: Vec<HeldPlaceholder>,
}

#[derive(Debug)]
struct HeldPlaceholder {
    path: PathBuf,
    parent: OwnedFd,
    folder: OwnedFd,
}

/// A placeholder could not be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no placeholder at {}: {errno}", path.display())]
pub struct PlaceholderError {
    pub path: PathBuf,
    pub errno: Errno,
}

impl Placeholders {
    /// Places a placeholder at another path. Does nothing if it exists or this process could not create it.
    ///
    /// # Errors
    /// The placeholder cannot be created.
    pub fn hold(&mut self, path: &Path) -> Result<(), PlaceholderError> {
        let missing = first_missing(path);
        self.held
            .retain(|held| held.path != missing || held.is_linked());
        if self.held.iter().any(|held| held.path == missing) {
            return Ok(());
        }
        let failed = |errno| PlaceholderError {
            path: missing.to_path_buf(),
            errno,
        };
        for _ in 0..TRIES {
            match try_hold(missing).map_err(failed)? {
                HoldAttempt::Held(held) => {
                    self.held.push(held);
                    return Ok(());
                }
                HoldAttempt::NotNeeded => return Ok(()),
                HoldAttempt::Changing => std::thread::sleep(BETWEEN_TRIES),
            }
        }
        Err(failed(Errno::AGAIN))
    }

    /// Removes the placeholders that have no other holder.
    pub fn release_unused(&mut self) {
        self.held.retain(|held| !held.release());
    }

    /// The held placeholders.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.held.iter().map(|held| held.path.as_path())
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        for held in &self.held {
            held.leave();
        }
    }
}

/// The first component of the path that does not exist.
fn first_missing(path: &Path) -> &Path {
    path.ancestors()
        .take_while(|ancestor| ancestor.symlink_metadata().is_err())
        .last()
        .unwrap_or(path)
}

enum HoldAttempt {
    Held(HeldPlaceholder),
    NotNeeded,
    /// Another process is creating or removing it.
    Changing,
}

fn try_hold(path: &Path) -> Result<HoldAttempt, Errno> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(HoldAttempt::NotNeeded);
    };
    let parent = open_without_links(parent)?;
    let made = match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(MODE)) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => return Ok(HoldAttempt::NotNeeded),
        Err(errno) => return Err(errno),
    };
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match rustix::fs::openat(&parent, name, flags, Mode::empty()) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(HoldAttempt::Changing),
        // A file or link exists here, so it is protected as such.
        Err(Errno::NOTDIR | Errno::LOOP) => return Ok(HoldAttempt::NotNeeded),
        Err(Errno::ACCESS) => return Ok(HoldAttempt::NotNeeded),
        Err(errno) => return Err(errno),
    };
    if made {
        rustix::fs::fchmod(&folder, Mode::from_raw_mode(MODE))?;
    } else if !is_placeholder(&folder)? {
        return Ok(HoldAttempt::NotNeeded);
    }
    match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(HoldAttempt::Changing),
        Err(errno) => return Err(errno),
    }
    let held = HeldPlaceholder {
        path: path.to_path_buf(),
        parent,
        folder,
    };
    if held.is_linked() {
        Ok(HoldAttempt::Held(held))
    } else {
        Ok(HoldAttempt::Changing)
    }
}

fn is_placeholder(folder: &OwnedFd) -> Result<bool, Errno> {
    if !has_mode(&rustix::fs::fstat(folder)?) {
        return Ok(false);
    }
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether there is a placeholder at `path`.
#[must_use]
pub fn is_placeholder_at(path: &Path) -> bool {
    // The mode excludes almost everything else without reading the folder.
    let may_be = rustix::fs::lstat(path).is_ok_and(|status| has_mode(&status));
    may_be
        && open_folder(path)
            .and_then(|folder| is_placeholder(&folder))
            .unwrap_or(false)
}

/// Removes a placeholder without holders.
pub(crate) fn remove_if_abandoned(path: &Path) {
    let (Some(parent), true) = (path.parent(), is_placeholder_at(path)) else {
        return;
    };
    let opened = open_without_links(parent).and_then(|parent| Ok((parent, open_folder(path)?)));
    if let Ok((parent, folder)) = opened {
        let path = path.to_path_buf();
        HeldPlaceholder {
            path,
            parent,
            folder,
        }
        .leave();
    }
}

/// Opens a resolved folder: a link in its path now was created to escape.
fn open_without_links(folder: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, folder, flags, Mode::empty(), resolve)
}

fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

fn has_mode(status: &rustix::fs::Stat) -> bool {
    let is_folder = rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir();
    is_folder && Mode::from_raw_mode(status.st_mode) == Mode::from_raw_mode(MODE)
}

impl HeldPlaceholder {
    /// Whether the folder still has a name.
    fn is_linked(&self) -> bool {
        rustix::fs::fstat(&self.folder).is_ok_and(|status| status.st_nlink > 0)
    }

    /// Removes the folder unless it has another holder or content. Returns whether it need not be held any longer.
    fn release(&self) -> bool {
        if self.leave() {
            return true;
        }
        // The attempt released this holder's lock. A process with an exclusive lock now is removing the folder.
        rustix::fs::flock(&self.folder, FlockOperation::NonBlockingLockShared).is_err()
    }

    /// Like [`release`](Self::release), and also releases this holder's lock if there is another holder.
    fn leave(&self) -> bool {
        let last = rustix::fs::flock(&self.folder, FlockOperation::NonBlockingLockExclusive);
        if last.is_err() {
            return false;
        }
        let Some(name) = self.path.file_name() else {
            return true;
        };
        if self.is_in_place(name) {
            // A failure means that the folder is in use and therefore not a placeholder any more.
            rustix::fs::unlinkat(&self.parent, name, AtFlags::REMOVEDIR).ok();
        }
        true
    }

    fn is_in_place(&self, name: &OsStr) -> bool {
        let there = rustix::fs::statat(&self.parent, name, AtFlags::SYMLINK_NOFOLLOW);
        let ours = rustix::fs::fstat(&self.folder);
        there.is_ok_and(|there| {
            ours.is_ok_and(|ours| (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino))
        }) && is_placeholder(&self.folder) == Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let guard = tempfile::tempdir().unwrap();
        let path = guard.path().canonicalize().unwrap();
        (guard, path)
    }

    fn placeholders(path: &Path) -> Placeholders {
        let mut placeholders = Placeholders::default();
        placeholders.hold(path).unwrap();
        placeholders
    }

    #[test]
    fn the_last_holder_removes_it() {
        let (_guard, root) = folder();
        let path = root.join(".git");
        let first = placeholders(&path);
        let second = placeholders(&path);
        assert!(path.is_dir());
        drop(first);
        assert!(path.is_dir());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn holding_again_is_holding_once_unless_it_is_gone() {
        let (_guard, root) = folder();
        let path = root.join(".git");
        let mut held = placeholders(&path);
        held.hold(&path).unwrap();
        assert_eq!(held.paths().collect::<Vec<_>>(), [&path]);
        fs::remove_dir(&path).unwrap();
        held.hold(&path).unwrap();
        assert_eq!(held.paths().collect::<Vec<_>>(), [&path]);
        drop(held);
        assert!(!path.exists());
    }

    #[test]
    fn existing_paths_get_no_placeholder() {
        let (_guard, root) = folder();
        fs::create_dir(root.join("empty")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("link")).unwrap();
        for name in ["empty", "file", "link"] {
            let held = placeholders(&root.join(name));
            assert!(held.held.is_empty(), "{name}");
            drop(held);
            assert!(root.join(name).symlink_metadata().is_ok(), "{name}");
        }
    }

    #[test]
    fn user_files_in_a_placeholder_are_kept() {
        let (_guard, root) = folder();
        let path = root.join(".codex");
        let held = placeholders(&path);
        fs::write(path.join("config.toml"), "").unwrap();
        drop(held);
        assert!(path.join("config.toml").exists());
    }

    #[test]
    fn the_first_missing_part_is_held() {
        let (_guard, root) = folder();
        let held = placeholders(&root.join("a/b/c"));
        assert!(root.join("a").is_dir());
        drop(held);
        assert!(!root.join("a").exists());
    }

    #[test]
    fn it_is_released_when_nobody_else_needs_it() {
        let (_guard, root) = folder();
        let path = root.join(".git");
        let mut outside = placeholders(&path);
        let command = placeholders(&path);
        outside.release_unused();
        assert!(path.is_dir() && is_placeholder_at(&path));
        drop(command);
        assert!(path.is_dir());
        outside.release_unused();
        assert!(!path.exists());
        assert_eq!(outside.paths().count(), 0);
    }

    #[test]
    fn one_left_behind_is_removed_unless_it_is_held() {
        let (_guard, root) = folder();
        let path = root.join("sub/.git");
        fs::create_dir(root.join("sub")).unwrap();
        let mut placeholders = placeholders(&path);
        crate::remove_abandoned_placeholders(&root.join("sub"));
        assert!(path.is_dir());
        // Leaks the holder to simulate a killed process.
        drop(std::mem::take(&mut placeholders.held));
        assert!(path.is_dir() && !crate::has_marker(&root.join("sub"), ".git"));
        crate::remove_abandoned_placeholders(&root.join("sub"));
        assert!(!path.exists());
    }

    #[test]
    fn one_left_behind_is_taken_over() {
        let (_guard, root) = folder();
        let path = root.join(".git");
        // Leaks the holder to simulate a killed process.
        for held in std::mem::take(&mut placeholders(&path).held) {
            drop(held);
        }
        assert!(path.is_dir());
        drop(placeholders(&path));
        assert!(!path.exists());
    }
}
