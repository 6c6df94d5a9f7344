//! A name in an open folder. The folders of the path are opened one by one without following links.
//!
//! A command could replace a folder by a link between two system calls. All reads and writes of a path go through the
//! folder that was opened; a path that leads through a link is refused.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;

use crate::fs_node::{EntryKind, FileFacts, FsNode, ListedEntry};
use crate::state::FileStamp;

const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The permission bits.
const MODE_BITS: RawMode = 0o7777;

/// What the file at a path is like. Links are followed.
pub(crate) fn facts(path: &Path) -> io::Result<FileFacts> {
    codex_mounts::check(path)?;
    Ok(facts_of(&rustix::fs::stat(path)?))
}

#[expect(clippy::unnecessary_cast, reason = "the types differ by system")]
fn facts_of(stat: &Stat) -> FileFacts {
    let nanoseconds =
        |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    FileFacts {
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mode: (stat.st_mode as RawMode & MODE_BITS) as u32,
        stamp: FileStamp {
            modified: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: stat.st_ino as u64,
        },
        links: stat.st_nlink as u64,
        device: stat.st_dev as u64,
    }
}

/// The entries of a folder whose names are `wanted`. What is removed meanwhile is left out.
pub(crate) fn list(
    path: &Path,
    mut wanted: impl FnMut(&OsStr) -> bool,
) -> io::Result<Vec<ListedEntry>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    codex_mounts::check(path)?;
    let folder = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    let mut entries = Vec::new();
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let is_used = name != "." && name != ".." && wanted(name);
        // What is mounted there may not even say what it is.
        if !is_used || !codex_mounts::answers(&path.join(name)) {
            continue;
        }
        let Ok(stat) = rustix::fs::statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
        else {
            continue;
        };
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => EntryKind::File,
            FileType::Symlink => EntryKind::Link,
            FileType::Directory => EntryKind::Folder,
            _ => EntryKind::Special,
        };
        entries.push(ListedEntry {
            name: OsString::from(name).into_boxed_os_str(),
            kind,
            facts: facts_of(&stat),
        });
    }
    Ok(entries)
}

/// A name in an open folder.
#[derive(Debug)]
pub(crate) struct AnchoredPath {
    folder: OwnedFd,
    name: OsString,
}

/// The folder of a path, opened. None if it is missing.
fn open_folder(path: &Path) -> io::Result<Option<OwnedFd>> {
    let mut open = None;
    if !path.is_absolute() {
        let message = "not an absolute path";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    for component in path.components() {
        let next = match (component, &open) {
            (Component::RootDir, _) => rustix::fs::openat(CWD, "/", FOLDER, Mode::empty()),
            (Component::Normal(name), Some(folder)) => {
                rustix::fs::openat(folder, name, FOLDER, Mode::empty())
            }
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "not an absolute path",
                ));
            }
        };
        match next {
            Ok(folder) => open = Some(folder),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(open)
}

impl AnchoredPath {
    /// None if the folder is missing. An error if a link leads there, or a file is in the way.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not the path of a file",
            ));
        };
        codex_mounts::check(path)?;
        let folder = open_folder(folder)?;
        Ok(folder.map(|folder| Self {
            folder,
            name: name.to_owned(),
        }))
    }

    fn stat(&self) -> Result<Option<Stat>, Errno> {
        match rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Reads what is there. A file is opened.
    pub(crate) fn node(&self) -> io::Result<FsNode> {
        let Some(stat) = self.stat()? else {
            return Ok(FsNode::Missing);
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                // Without O_NONBLOCK, opening a pipe would block.
                let flags = OFlags::RDONLY
                    | OFlags::NOFOLLOW
                    | OFlags::NONBLOCK
                    | OFlags::NOCTTY
                    | OFlags::CLOEXEC;
                let file = rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())?;
                let stat = rustix::fs::fstat(&file)?;
                if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                    return Ok(FsNode::Special);
                }
                Ok(FsNode::File(File::from(file), facts_of(&stat)))
            }
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&self.folder, &self.name, Vec::new())?;
                let target = OsString::from_vec(target.into_bytes());
                Ok(FsNode::Link(target.into()))
            }
            FileType::Directory => Ok(FsNode::Folder(facts_of(&stat))),
            _ => Ok(FsNode::Special),
        }
    }

    /// Does something in the folder. If its mode forbids that to its owner, the mode is changed meanwhile.
    fn in_folder<T>(&self, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
        let done = act();
        let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        if !done.as_ref().is_err_and(is_refused) {
            return done;
        }
        let mode = rustix::fs::fstat(&self.folder)?.st_mode as RawMode & MODE_BITS;
        let mode = Mode::from_raw_mode(mode);
        if mode.contains(Mode::RWXU) || rustix::fs::fchmod(&self.folder, mode | Mode::RWXU).is_err()
        {
            return done;
        }
        let done = act();
        rustix::fs::fchmod(&self.folder, mode)?;
        done
    }

    /// Puts a file there in one step, in the place of a file or link that is there.
    pub(crate) fn put_file(&self, bytes: &[u8], mode: u32, temporary: &OsStr) -> io::Result<()> {
        self.in_folder(|| self.try_put_file(bytes, mode, temporary))
    }

    fn try_put_file(&self, bytes: &[u8], mode: u32, temporary: &OsStr) -> io::Result<()> {
        self.try_remove_name(temporary)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.folder, temporary, flags, Mode::RUSR | Mode::WUSR)?;
        let written = self.fill(File::from(file), bytes, mode);
        let put = written.and_then(|()| self.rename_into_place(temporary));
        if put.is_err() {
            let _ = self.try_remove_name(temporary);
        }
        put
    }

    fn fill(&self, mut file: File, bytes: &[u8], mode: u32) -> io::Result<()> {
        file.write_all(bytes)?;
        if let Ok(Some(old)) = self.stat() {
            let own = rustix::fs::fstat(&file)?;
            if (own.st_uid, own.st_gid) != (old.st_uid, old.st_gid) {
                let owner = rustix::fs::Uid::from_raw(old.st_uid);
                let group = rustix::fs::Gid::from_raw(old.st_gid);
                // Only root may give files away. The content matters more.
                let _ = rustix::fs::fchown(&file, Some(owner), Some(group));
            }
        }
        rustix::fs::fchmod(&file, mode_of(mode))?;
        Ok(())
    }

    /// Puts a link there in one step, in the place of a file or link that is there.
    pub(crate) fn put_link(&self, target: &Path, temporary: &OsStr) -> io::Result<()> {
        self.in_folder(|| {
            self.try_remove_name(temporary)?;
            rustix::fs::symlinkat(target, &self.folder, temporary)?;
            let put = self.rename_into_place(temporary);
            if put.is_err() {
                let _ = self.try_remove_name(temporary);
            }
            put
        })
    }

    fn rename_into_place(&self, temporary: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(
            &self.folder,
            temporary,
            &self.folder,
            &self.name,
        )?)
    }

    /// Removes another name in the same folder, if it is there.
    pub(crate) fn remove_name(&self, name: &OsStr) -> io::Result<()> {
        self.in_folder(|| self.try_remove_name(name))
    }

    fn try_remove_name(&self, name: &OsStr) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Removes the file or link.
    pub(crate) fn remove_file(&self) -> io::Result<()> {
        self.remove_name(&self.name)
    }

    /// Removes the folder. Returns false if something is in it.
    pub(crate) fn remove_folder(&self) -> io::Result<bool> {
        self.in_folder(|| {
            match rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => Ok(true),
                Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
                Err(errno) => Err(errno.into()),
            }
        })
    }

    pub(crate) fn make_folder(&self, mode: u32) -> io::Result<()> {
        self.in_folder(
            || match rustix::fs::mkdirat(&self.folder, &self.name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => self.set_mode(mode, FOLDER),
                Err(errno) => Err(errno.into()),
            },
        )
    }

    pub(crate) fn set_folder_mode(&self, mode: u32) -> io::Result<()> {
        self.set_mode(mode, FOLDER)
    }

    fn set_mode(&self, mode: u32, flags: OFlags) -> io::Result<()> {
        let open = rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())?;
        Ok(rustix::fs::fchmod(open, mode_of(mode))?)
    }
}

fn mode_of(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as RawMode & MODE_BITS)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn links_on_the_way_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::create_dir(base.join("outside")).unwrap();
        fs::write(base.join("outside/file"), "x").unwrap();
        symlink(base.join("outside"), base.join("inside")).unwrap();
        assert!(AnchoredPath::open(&base.join("inside/file")).is_err());
        assert!(AnchoredPath::open(&base.join("no/file")).unwrap().is_none());
        assert!(AnchoredPath::open(Path::new("relative")).is_err());
        assert!(AnchoredPath::open(&base.join("outside/../outside/file")).is_err());
        let place = AnchoredPath::open(&base.join("inside")).unwrap().unwrap();
        assert!(
            matches!(place.node().unwrap(), FsNode::Link(target) if target == base.join("outside"))
        );
        // The place of the link is taken, not that of its target.
        place.put_file(b"new", 0o640, OsStr::new("tmp")).unwrap();
        assert_eq!(fs::read(base.join("inside")).unwrap(), b"new");
        assert_eq!(fs::read(base.join("outside/file")).unwrap(), b"x");
        let mode = fs::metadata(base.join("inside")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o640);
        place
            .put_link(Path::new("gone"), OsStr::new("tmp"))
            .unwrap();
        assert_eq!(
            fs::read_link(base.join("inside")).unwrap(),
            Path::new("gone")
        );
        let outside = AnchoredPath::open(&base.join("outside")).unwrap().unwrap();
        assert!(!outside.remove_folder().unwrap());
        place.remove_file().unwrap();
        assert!(matches!(place.node().unwrap(), FsNode::Missing));
        assert_eq!(fs::read_dir(&base).unwrap().count(), 1);
    }
}
