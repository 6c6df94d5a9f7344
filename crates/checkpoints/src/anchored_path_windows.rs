//! A name in a folder, on Windows.
//!
//! A path that leads through a link is refused, as on other systems. A folder could be replaced by a link between that check
//! and the use of the path: no command is sandboxed on this system, so nothing that could do so is kept from it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Write as _};
use std::os::windows::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::fs_node::{EntryKind, FileFacts, FsNode, ListedEntry};
use crate::state::FileStamp;

/// The modes that files and folders are recorded with.
const FILE_MODE: u32 = 0o644;
const READ_ONLY_MODE: u32 = 0o444;
const FOLDER_MODE: u32 = 0o755;

/// File times have this many nanoseconds.
const FILE_TIME_UNIT: u64 = 100;

/// What the file at a path is like. Links are followed.
pub(crate) fn facts(path: &Path) -> io::Result<FileFacts> {
    Ok(facts_of(&fs::metadata(path)?))
}

fn facts_of(metadata: &Metadata) -> FileFacts {
    let modified = metadata.last_write_time().saturating_mul(FILE_TIME_UNIT);
    let modified = i64::try_from(modified).unwrap_or(i64::MAX);
    FileFacts {
        size: metadata.len(),
        mode: match (metadata.is_dir(), metadata.permissions().readonly()) {
            (true, _) => FOLDER_MODE,
            (false, true) => READ_ONLY_MODE,
            (false, false) => FILE_MODE,
        },
        stamp: FileStamp {
            modified,
            changed: modified,
            inode: 0,
        },
        links: 1,
        device: 0,
    }
}

/// The entries of a folder whose names are `wanted`. What is removed meanwhile is left out.
pub(crate) fn list(
    path: &Path,
    mut wanted: impl FnMut(&OsStr) -> bool,
) -> io::Result<Vec<ListedEntry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        if !wanted(&name) {
            continue;
        }
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let kind = if metadata.is_symlink() {
            EntryKind::Link
        } else if metadata.is_dir() {
            EntryKind::Folder
        } else if metadata.is_file() {
            EntryKind::File
        } else {
            EntryKind::Special
        };
        entries.push(ListedEntry {
            name: name.into_boxed_os_str(),
            kind,
            facts: facts_of(&metadata),
        });
    }
    Ok(entries)
}

/// A name in a folder.
#[derive(Debug)]
pub(crate) struct AnchoredPath {
    folder: PathBuf,
    name: OsString,
}

impl AnchoredPath {
    /// None if the folder is missing. An error if a link leads there, or a file is in the way.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            let message = "not the path of a file";
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        };
        if !path.is_absolute() {
            let message = "not an absolute path";
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        }
        for folder in folder.ancestors() {
            match fs::symlink_metadata(folder) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return Err(ErrorKind::NotADirectory.into()),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(Self {
            folder: folder.to_path_buf(),
            name: name.to_owned(),
        }))
    }

    fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Reads what is there. A file is opened.
    pub(crate) fn node(&self) -> io::Result<FsNode> {
        let path = self.path();
        let found = match fs::symlink_metadata(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(FsNode::Missing),
            Err(error) => return Err(error),
        };
        if found.is_symlink() {
            return Ok(FsNode::Link(fs::read_link(path)?));
        }
        if found.is_dir() {
            return Ok(FsNode::Folder(facts_of(&found)));
        }
        if !found.is_file() {
            return Ok(FsNode::Special);
        }
        let file = fs::File::open(path)?;
        let facts = facts_of(&file.metadata()?);
        Ok(FsNode::File(file, facts))
    }

    /// Puts a file there in one step, in the place of a file or link that is there.
    pub(crate) fn put_file(&self, bytes: &[u8], mode: u32, temporary: &OsStr) -> io::Result<()> {
        self.remove_name(temporary)?;
        let path = self.folder.join(temporary);
        let mut file = fs::File::create_new(&path)?;
        let put = file.write_all(bytes).and_then(|()| {
            drop(file);
            self.rename_into_place(temporary)
        });
        if put.is_err() {
            let _ = self.remove_name(temporary);
        }
        put.and_then(|()| set_mode(&self.path(), mode))
    }

    /// Puts a link there in one step, in the place of a file or link that is there.
    pub(crate) fn put_link(&self, target: &Path, temporary: &OsStr) -> io::Result<()> {
        self.remove_name(temporary)?;
        let path = self.folder.join(temporary);
        if self.folder.join(target).is_dir() {
            std::os::windows::fs::symlink_dir(target, &path)?;
        } else {
            std::os::windows::fs::symlink_file(target, &path)?;
        }
        let put = self.rename_into_place(temporary);
        if put.is_err() {
            let _ = self.remove_name(temporary);
        }
        put
    }

    /// A file that may only be read cannot be replaced, so it becomes writable first.
    fn rename_into_place(&self, temporary: &OsStr) -> io::Result<()> {
        let path = self.path();
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()) {
            set_mode(&path, FILE_MODE)?;
        }
        fs::rename(self.folder.join(temporary), path)
    }

    /// Removes another name in the same folder, if it is there.
    pub(crate) fn remove_name(&self, name: &OsStr) -> io::Result<()> {
        let path = self.folder.join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() && fs::metadata(&path).is_ok_and(|at| at.is_dir()) => {
                fs::remove_dir(path)
            }
            Ok(found) => {
                if found.is_file() {
                    set_mode(&path, FILE_MODE)?;
                }
                fs::remove_file(path)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes the file or link.
    pub(crate) fn remove_file(&self) -> io::Result<()> {
        self.remove_name(&self.name)
    }

    /// Removes the folder. Returns false if something is in it.
    pub(crate) fn remove_folder(&self) -> io::Result<bool> {
        match fs::remove_dir(self.path()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Folders have no mode.
    pub(crate) fn make_folder(&self, _: u32) -> io::Result<()> {
        match fs::create_dir(self.path()) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => self.set_folder_mode(0),
            made => made,
        }
    }

    /// Folders have no mode. An error if there is no folder.
    pub(crate) fn set_folder_mode(&self, _: u32) -> io::Result<()> {
        if fs::symlink_metadata(self.path())?.is_dir() {
            Ok(())
        } else {
            Err(ErrorKind::NotADirectory.into())
        }
    }
}

/// A file is read-only if its owner may not write it.
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let mut permissions = fs::metadata(path)?.permissions();
    permissions.set_readonly(mode & 0o200 == 0);
    fs::set_permissions(path, permissions)
}
