//! A copy of a folder for commands that may change it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

/// A larger folder is not copied.
const MAX_FILES: usize = 200_000;
const MAX_BYTES: u64 = 8 << 30;

/// A copy, which is deleted when this is dropped.
#[derive(Debug)]
pub(crate) struct ScratchFolder {
    _temporary: TempDir,
    folder: PathBuf,
}

/// What may still be copied.
struct Room {
    files: usize,
    bytes: u64,
}

impl ScratchFolder {
    /// Copies a folder. Links stay links; sockets, pipes and devices are left out.
    pub(crate) fn copy_of(original: &Path) -> anyhow::Result<Self> {
        let temporary = tempfile::tempdir().context("cannot make a temporary folder")?;
        // Without links in it, as commands see it.
        let folder = dunce::canonicalize(temporary.path())?.join("work");
        let mut room = Room {
            files: MAX_FILES,
            bytes: MAX_BYTES,
        };
        let copied = copy_folder(original, &folder, &mut room);
        copied.with_context(|| format!("cannot copy {}", original.display()))?;
        Ok(Self {
            _temporary: temporary,
            folder,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }
}

fn copy_folder(from: &Path, to: &Path, room: &mut Room) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        room.files = room.files.checked_sub(1).ok_or_else(too_large)?;
        if kind.is_dir() {
            copy_folder(&path, &target, room)?;
        } else if kind.is_symlink() {
            codex_system::link::copy(&path, &target)?;
        } else if kind.is_file() {
            let bytes = entry.metadata()?.len();
            room.bytes = room.bytes.checked_sub(bytes).ok_or_else(too_large)?;
            fs::copy(&path, &target)?;
        }
    }
    fs::set_permissions(to, from.metadata()?.permissions())
}

fn too_large() -> io::Error {
    io::Error::other(format!(
        "it has more than {MAX_FILES} files or {MAX_BYTES} bytes"
    ))
}
