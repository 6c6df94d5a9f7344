//! Folders by their descriptors: nothing that happens to a path later changes which folder is meant.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::entry::{FolderEntry, FolderEntryKind, NewFile, is_link, not_regular};

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Opening neither waits for the other end of a pipe nor takes a terminal.
const NO_SIDE_EFFECTS: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

#[derive(Debug)]
pub(super) struct OpenFolder(OwnedFd);

/// A folder that was opened on the way, or the first one.
enum Place<'a> {
    Here(BorrowedFd<'a>),
    Below(OwnedFd),
}

impl AsFd for Place<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Here(folder) => *folder,
            Self::Below(folder) => folder.as_fd(),
        }
    }
}

impl OpenFolder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    fn descend(&self, names: &[OsString]) -> io::Result<Place<'_>> {
        let mut place = Place::Here(self.0.as_fd());
        for name in names {
            let next = rustix::fs::openat(place.as_fd(), name, FOLDER, Mode::empty());
            place = Place::Below(next.map_err(|errno| explained(&place, name, errno))?);
        }
        Ok(place)
    }

    /// The folder of the last name, and that name.
    fn parent<'n>(&self, names: &'n [OsString]) -> io::Result<(Place<'_>, &'n OsString)> {
        let (last, folders) = names.split_last().ok_or(io::ErrorKind::InvalidInput)?;
        Ok((self.descend(folders)?, last))
    }

    pub(super) fn folder(&self, names: &[OsString]) -> io::Result<Self> {
        let folder = self.descend(names)?;
        Ok(Self(rustix::fs::openat(
            &folder,
            ".",
            FOLDER,
            Mode::empty(),
        )?))
    }

    pub(super) fn read(&self, names: &[OsString]) -> io::Result<File> {
        let (folder, name) = self.parent(names)?;
        // Before it is opened, because opening some devices has effects.
        match kind_in(&folder, name)? {
            FileType::RegularFile => {}
            FileType::Symlink => return Err(is_link(name)),
            FileType::Directory => return Err(Errno::ISDIR.into()),
            _ => return Err(not_regular()),
        }
        let flags = OFlags::RDONLY | NO_SIDE_EFFECTS;
        let file = rustix::fs::openat(&folder, name, flags, Mode::empty());
        regular(file.map_err(|errno| explained(&folder, name, errno))?)
    }

    pub(super) fn entry(&self, names: &[OsString]) -> io::Result<FolderEntry> {
        let (folder, name) = self.parent(names)?;
        let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(entry_of(name.clone(), &stat))
    }

    pub(super) fn entries(&self, names: &[OsString]) -> io::Result<Vec<FolderEntry>> {
        let folder = self.descend(names)?;
        // The descriptor of a folder remembers how far it was listed.
        let folder = rustix::fs::openat(&folder, ".", FOLDER, Mode::empty())?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            // What is removed meanwhile is left out.
            if let Ok(stat) = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                entries.push(entry_of(name.to_owned(), &stat));
            }
        }
        Ok(entries)
    }

    pub(super) fn make_folder(&self, names: &[OsString], access: NewFile) -> io::Result<()> {
        let mode = match access {
            NewFile::Private => Mode::RWXU,
            NewFile::Usual => Mode::RWXU | Mode::RWXG | Mode::RWXO,
        };
        let mut place = Place::Here(self.0.as_fd());
        for name in names {
            match rustix::fs::mkdirat(&place, name, mode) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            let next = rustix::fs::openat(&place, name, FOLDER, Mode::empty());
            place = Place::Below(next.map_err(|errno| explained(&place, name, errno))?);
        }
        Ok(())
    }

    pub(super) fn create_new(&self, names: &[OsString], access: NewFile) -> io::Result<File> {
        let (folder, name) = self.parent(names)?;
        let flags = OFlags::WRONLY
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC;
        let mode = match access {
            NewFile::Private => Mode::RUSR | Mode::WUSR,
            NewFile::Usual => Mode::from_raw_mode(0o666),
        };
        Ok(rustix::fs::openat(&folder, name, flags, mode)?.into())
    }

    /// Whether a pipe or device in the folder has this name.
    pub(super) fn is_special(&self, name: &OsString) -> io::Result<bool> {
        match kind_in(&Place::Here(self.0.as_fd()), name) {
            Ok(FileType::RegularFile | FileType::Symlink) | Err(Errno::NOENT) => Ok(false),
            Ok(FileType::Directory) => Err(Errno::ISDIR.into()),
            Ok(_) => Ok(true),
            Err(errno) => Err(errno.into()),
        }
    }

    /// A pipe or device in the folder, opened for writing. Waits for who reads a pipe.
    pub(super) fn open_special(&self, name: &OsString) -> io::Result<File> {
        let folder = Place::Here(self.0.as_fd());
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, name, flags, Mode::empty());
        let file = file.map_err(|errno| explained(&folder, name, errno))?;
        match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
            // It took the place of the pipe.
            FileType::RegularFile => Err(io::ErrorKind::InvalidInput.into()),
            _ => Ok(file.into()),
        }
    }

    /// A file that is there, opened for writing from its beginning.
    pub(super) fn overwrite(&self, names: &[OsString]) -> io::Result<File> {
        let (folder, name) = self.parent(names)?;
        let flags = OFlags::WRONLY | NO_SIDE_EFFECTS;
        let file = rustix::fs::openat(&folder, name, flags, Mode::empty());
        let file = regular(file.map_err(|errno| explained(&folder, name, errno))?)?;
        file.set_len(0)?;
        Ok(file)
    }

    pub(super) fn rename(&self, from: &[OsString], to: &[OsString]) -> io::Result<()> {
        let (folder, from) = self.parent(from)?;
        let (other, to) = self.parent(to)?;
        Ok(rustix::fs::renameat(&folder, from, &other, to)?)
    }

    pub(super) fn remove_file(&self, names: &[OsString]) -> io::Result<()> {
        let (folder, name) = self.parent(names)?;
        Ok(rustix::fs::unlinkat(&folder, name, AtFlags::empty())?)
    }
}

fn kind_in(folder: &Place<'_>, name: &OsString) -> Result<FileType, Errno> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}

/// The error of opening a name, which says so if the name is a link.
fn explained(folder: &Place<'_>, name: &OsString, errno: Errno) -> io::Error {
    let may_be_link = matches!(errno, Errno::LOOP | Errno::NOTDIR | Errno::MLINK);
    if may_be_link && kind_in(folder, name) == Ok(FileType::Symlink) {
        return is_link(name);
    }
    errno.into()
}

/// The file, unless another one took its place before it was opened.
fn regular(file: OwnedFd) -> io::Result<File> {
    match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => Err(not_regular()),
    }
}

#[expect(clippy::unnecessary_cast, reason = "the types differ by system")]
fn entry_of(name: OsString, stat: &Stat) -> FolderEntry {
    let modified = u64::try_from(stat.st_mtime as i64).ok();
    FolderEntry {
        name,
        kind: match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => FolderEntryKind::File,
            FileType::Directory => FolderEntryKind::Folder,
            _ => FolderEntryKind::Other,
        },
        bytes: u64::try_from(stat.st_size).unwrap_or(0),
        modified: modified
            .and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))),
    }
}
