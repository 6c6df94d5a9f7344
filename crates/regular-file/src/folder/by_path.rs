//! Folders by their paths. A link could take the place of a folder between the check and the use: no command is kept from
//! that on such systems by anything else either.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::entry::{FolderEntry, FolderEntryKind, NewFile, is_link, not_regular};

#[derive(Debug)]
pub(super) struct OpenFolder(PathBuf);

impl OpenFolder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let path = dunce::canonicalize(path)?;
        if !path.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self(path))
    }

    /// The path of names whose folders are no links.
    fn checked(&self, names: &[OsString]) -> io::Result<PathBuf> {
        let mut path = self.0.clone();
        for (index, name) in names.iter().enumerate() {
            path.push(name);
            if index + 1 < names.len() && fs::symlink_metadata(&path)?.is_symlink() {
                return Err(is_link(name));
            }
        }
        Ok(path)
    }

    fn file(&self, names: &[OsString]) -> io::Result<PathBuf> {
        let path = self.checked(names)?;
        let found = fs::symlink_metadata(&path)?;
        match names.last() {
            Some(name) if found.is_symlink() => Err(is_link(name)),
            _ if found.is_dir() => Err(codex_system::file::is_a_directory()),
            _ if !found.is_file() => Err(not_regular()),
            _ => Ok(path),
        }
    }

    pub(super) fn folder(&self, names: &[OsString]) -> io::Result<Self> {
        let path = self.checked(names)?;
        match names.last() {
            Some(name) if fs::symlink_metadata(&path)?.is_symlink() => Err(is_link(name)),
            _ => Self::open(&path),
        }
    }

    pub(super) fn read(&self, names: &[OsString]) -> io::Result<File> {
        File::open(self.file(names)?)
    }

    pub(super) fn entry(&self, names: &[OsString]) -> io::Result<FolderEntry> {
        let found = fs::symlink_metadata(self.checked(names)?)?;
        Ok(entry_of(names.last().cloned().unwrap_or_default(), &found))
    }

    pub(super) fn entries(&self, names: &[OsString]) -> io::Result<Vec<FolderEntry>> {
        let path = self.checked(names)?;
        if let Some(name) = names.last()
            && fs::symlink_metadata(&path)?.is_symlink()
        {
            return Err(is_link(name));
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if let Ok(found) = fs::symlink_metadata(entry.path()) {
                entries.push(entry_of(entry.file_name(), &found));
            }
        }
        Ok(entries)
    }

    pub(super) fn make_folder(&self, names: &[OsString], _: NewFile) -> io::Result<()> {
        let mut path = self.0.clone();
        for name in names {
            path.push(name);
            match fs::create_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            let found = fs::symlink_metadata(&path)?;
            if found.is_symlink() {
                return Err(is_link(name));
            }
            if !found.is_dir() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
        }
        Ok(())
    }

    pub(super) fn create_new(&self, names: &[OsString], _: NewFile) -> io::Result<File> {
        let path = self.checked(names)?;
        OpenOptions::new().append(true).create_new(true).open(path)
    }

    pub(super) fn is_special(&self, name: &OsString) -> io::Result<bool> {
        match fs::symlink_metadata(self.0.join(name)) {
            Ok(found) if found.is_dir() => Err(codex_system::file::is_a_directory()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(false),
        }
    }

    /// There are no pipes and devices in folders.
    pub(super) fn open_special(&self, name: &OsString) -> io::Result<File> {
        let path = self.file(std::slice::from_ref(name))?;
        OpenOptions::new().write(true).open(path)
    }

    pub(super) fn overwrite(&self, names: &[OsString]) -> io::Result<File> {
        let path = self.file(names)?;
        OpenOptions::new().write(true).truncate(true).open(path)
    }

    pub(super) fn rename(&self, from: &[OsString], to: &[OsString]) -> io::Result<()> {
        fs::rename(self.checked(from)?, self.checked(to)?)
    }

    pub(super) fn remove_file(&self, names: &[OsString]) -> io::Result<()> {
        fs::remove_file(self.checked(names)?)
    }
}

fn entry_of(name: OsString, found: &Metadata) -> FolderEntry {
    FolderEntry {
        name,
        kind: if found.is_file() {
            FolderEntryKind::File
        } else if found.is_dir() {
            FolderEntryKind::Folder
        } else {
            FolderEntryKind::Other
        },
        bytes: found.len(),
        modified: found.modified().ok(),
    }
}
