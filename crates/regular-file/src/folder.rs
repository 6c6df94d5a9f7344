//! A folder that others may have filled: its files are read and written without following links in it.
//!
//! The path of the folder itself is what a person named, so links in it are followed. Below it every folder on the way is
//! opened without following links, and so is the file; a link is an error that names it. A file is replaced in one step,
//! and a link in its place with it.

#[cfg(not(unix))]
mod by_path;
mod entry;
#[cfg(unix)]
mod opened;

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(not(unix))]
use by_path::OpenFolder;
pub use entry::{FolderEntry, FolderEntryKind, NewFile};
#[cfg(unix)]
use opened::OpenFolder;

/// An open folder.
#[derive(Debug)]
pub struct LinkFreeFolder(OpenFolder);

impl LinkFreeFolder {
    /// Opens a folder. Links in its path are followed.
    ///
    /// # Errors
    /// It does not exist or is no folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        OpenFolder::open(path).map(Self)
    }

    /// Opens a folder below the folder.
    ///
    /// # Errors
    /// It does not exist or is no folder, or it or one on the way is a link.
    pub fn folder(&self, inside: &Path) -> io::Result<Self> {
        self.0.folder(&names(inside)?).map(Self)
    }

    /// Opens a regular file below the folder for reading.
    ///
    /// # Errors
    /// It does not exist, is a link or not regular, or a link is on the way.
    pub fn read(&self, inside: &Path) -> io::Result<File> {
        self.0.read(&names(inside)?)
    }

    /// What a file or folder below the folder is.
    ///
    /// # Errors
    /// It does not exist, or a link is on the way.
    pub fn entry(&self, inside: &Path) -> io::Result<FolderEntry> {
        self.0.entry(&names(inside)?)
    }

    /// The entries of the folder, or of one below it.
    ///
    /// # Errors
    /// It does not exist, or is or is behind a link.
    pub fn entries(&self, inside: &Path) -> io::Result<Vec<FolderEntry>> {
        self.0.entries(&names(inside)?)
    }

    /// Creates a folder below the folder, with those on the way. One that is there is left as it is.
    ///
    /// # Errors
    /// It cannot be created, or a link or file is in the way.
    pub fn make_folder(&self, inside: &Path, access: NewFile) -> io::Result<()> {
        self.0.make_folder(&names(inside)?, access)
    }

    /// Creates a private file below the folder for appending.
    ///
    /// # Errors
    /// There is something already, or a link is on the way.
    pub fn create_new(&self, inside: &Path) -> io::Result<File> {
        self.0.create_new(&names(inside)?, NewFile::Private)
    }

    /// Removes a file or link below the folder.
    ///
    /// # Errors
    /// It cannot be removed, or a link is on the way.
    pub fn remove_file(&self, inside: &Path) -> io::Result<()> {
        self.0.remove_file(&names(inside)?)
    }

    /// Writes a file below the folder in one step, in the place of what is there unless it is a folder. If `write` fails,
    /// what was there stays.
    ///
    /// # Errors
    /// It cannot be written, or a link is on the way.
    pub fn replace<T>(
        &self,
        inside: &Path,
        access: NewFile,
        write: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> io::Result<T> {
        let names = names(inside)?;
        let Some((last, folders)) = names.split_last() else {
            return Err(not_inside(inside));
        };
        let beside: PathBuf = folders.iter().collect();
        let beside = beside.join(temporary_name(last));
        let temporary = self::names(&beside)?;
        let mut file = match self.0.create_new(&temporary, access) {
            Ok(file) => file,
            // The file may be writable where the folder is not.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return write(&mut self.0.overwrite(&names)?);
            }
            Err(error) => return Err(error),
        };
        let written = write(&mut file).and_then(|value| {
            drop(file);
            self.0.rename(&temporary, &names)?;
            Ok(value)
        });
        if written.is_err() {
            // The first error is the one to report.
            let _ = self.0.remove_file(&temporary);
        }
        written
    }

    /// Writes a file below the folder that others can make again. What is there is replaced in one step, unless it is these
    /// bytes already: then it is left as it is, with its time. Where nothing is, the file is written in its place.
    ///
    /// # Errors
    /// It cannot be written, or a link is on the way.
    pub fn update(&self, inside: &Path, access: NewFile, bytes: &[u8]) -> io::Result<()> {
        let names = names(inside)?;
        match self.0.create_new(&names, access) {
            Ok(mut file) => {
                let written = file.write_all(bytes);
                if written.is_err() {
                    let _ = self.0.remove_file(&names);
                }
                written
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            // A link in its place is replaced.
            Err(_)
                if self
                    .0
                    .read(&names)
                    .is_ok_and(|file| has_content(file, bytes)) =>
            {
                Ok(())
            }
            Err(_) => self.replace(inside, access, |file| file.write_all(bytes)),
        }
    }
}

/// Whether a file has these bytes; not if it cannot be read.
fn has_content(file: File, bytes: &[u8]) -> bool {
    let length = bytes.len() as u64;
    if file.metadata().map_or(true, |found| found.len() != length) {
        return false;
    }
    let mut found = Vec::with_capacity(bytes.len() + 1);
    let read = file.take(length + 1).read_to_end(&mut found);
    read.is_ok() && found == bytes
}

/// Opens a regular file below a folder for reading, see [`LinkFreeFolder::read`].
///
/// # Errors
/// There is no such folder or file, or a link is in the way.
pub fn open_inside(folder: &Path, inside: &Path) -> io::Result<File> {
    LinkFreeFolder::open(folder)?.read(inside)
}

/// Reads a regular file below a folder, see [`LinkFreeFolder::read`].
///
/// # Errors
/// There is no such folder or file, a link is in the way, or it is longer than `limit`.
pub fn read_inside(folder: &Path, inside: &Path, limit: u64) -> io::Result<Vec<u8>> {
    crate::read_file(open_inside(folder, inside)?, limit)
}

/// A file to write in one step, see [`LinkFreeFolder::replace`]. Links in the path of its folder are followed.
#[derive(Debug, Clone)]
pub struct OutputFile {
    path: PathBuf,
    may_be_special: bool,
}

impl OutputFile {
    /// A file that a person named. A pipe or device that is there is written to.
    #[must_use]
    pub fn named(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            may_be_special: true,
        }
    }

    /// A file that follows from something else. A pipe that is there is replaced: nobody may ever read it.
    #[must_use]
    pub fn derived(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            may_be_special: false,
        }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write<T>(
        &self,
        access: NewFile,
        write: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> io::Result<T> {
        self.open()?.write(access, write)
    }

    /// Opens its folder, so that what happens to the path of the folder later changes nothing.
    ///
    /// # Errors
    /// There is no such folder, or a folder has the name.
    pub fn open(&self) -> io::Result<OpenOutput> {
        let Some(name) = self.path.file_name() else {
            return Err(not_inside(&self.path));
        };
        let name = name.to_owned();
        let parent = self.path.parent().unwrap_or(Path::new(""));
        if self.may_be_special && is_of_descriptors(parent) {
            return Ok(OpenOutput(OpenPlace::Descriptor(self.path.clone())));
        }
        let folder = LinkFreeFolder::open(parent)?;
        if self.may_be_special && folder.0.is_special(&name)? {
            return Ok(OpenOutput(OpenPlace::Special(folder, name)));
        }
        Ok(OpenOutput(OpenPlace::File(folder, name)))
    }
}

/// An output whose folder is open.
#[derive(Debug)]
pub struct OpenOutput(OpenPlace);

#[derive(Debug)]
enum OpenPlace {
    /// The name of a descriptor of this process.
    Descriptor(PathBuf),
    /// A pipe or device.
    Special(LinkFreeFolder, OsString),
    File(LinkFreeFolder, OsString),
}

impl OpenOutput {
    /// Writes it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write<T>(
        &self,
        access: NewFile,
        write: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> io::Result<T> {
        match &self.0 {
            OpenPlace::Descriptor(path) => write(&mut OpenOptions::new().write(true).open(path)?),
            OpenPlace::Special(folder, name) => write(&mut folder.0.open_special(name)?),
            OpenPlace::File(folder, name) => folder.replace(Path::new(name), access, write),
        }
    }
}

/// Whether the links in a folder are names of this process's own descriptors, such as `/dev/stdout`.
fn is_of_descriptors(folder: &Path) -> bool {
    cfg!(unix)
        && std::fs::canonicalize(folder).is_ok_and(|folder| {
            folder == Path::new("/dev")
                || folder.starts_with("/dev/fd")
                || folder.starts_with("/proc")
        })
}

/// The names of a path below a folder.
fn names(inside: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for component in inside.components() {
        match component {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::CurDir => {}
            _ => return Err(not_inside(inside)),
        }
    }
    Ok(names)
}

fn not_inside(path: &Path) -> io::Error {
    let message = format!("`{}` is no path below the folder", path.display());
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// A name that nothing else uses.
fn temporary_name(name: &OsString) -> OsString {
    static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}-{number}.tmp", std::process::id()));
    temporary
}

#[cfg(all(test, unix))]
#[expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]
#[path = "folder_tests.rs"]
mod tests;
