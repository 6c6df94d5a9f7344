//! Copies the folder of a plugin: folders and regular files, no links, not without limit. The copy is for its owner only.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

use codex_system::file;

/// The limit on the files and folders of a plugin.
const MAX_ENTRIES: usize = 20_000;
/// The limit on the size of all files of a plugin.
const MAX_BYTES: u64 = 512 * 1024 * 1024;
/// The limit on folders inside of each other.
const MAX_DEPTH: usize = 32;

/// Why a folder was not copied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    /// It is larger than plugins may be.
    #[error("{0}")]
    TooLarge(String),
    /// The system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// How much has been copied.
#[derive(Debug, Default)]
struct Copied {
    entries: usize,
    bytes: u64,
}

/// Copies a folder to a path that does not exist yet. Links and special files are left out.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), CopyError> {
    Copied::default().folder(from, to, 0)
}

impl Copied {
    fn folder(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), CopyError> {
        if depth > MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} folders inside of each other");
            return Err(CopyError::TooLarge(message));
        }
        file::private_folder(&mut DirBuilder::new()).create(to)?;
        for entry in codex_mounts::read_dir(from)? {
            let entry = entry?;
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                let message = format!("more than {MAX_ENTRIES} files and folders");
                return Err(CopyError::TooLarge(message));
            }
            let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
            if kind.is_dir() {
                self.folder(&entry.path(), &target, depth + 1)?;
            } else if kind.is_file() {
                self.file(&entry.path(), &target)?;
            } else {
                tracing::warn!("{} is not copied", entry.path().display());
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &Path, to: &Path) -> Result<(), CopyError> {
        let source = codex_regular_file::open(from)?;
        let left = MAX_BYTES - self.bytes;
        let mut source = io::Read::take(source, left + 1);
        let mut target = new_file(source.get_ref(), to)?;
        let copied = io::copy(&mut source, &mut target)?;
        if copied > left {
            let message = format!("more than {} MiB", MAX_BYTES / 1024 / 1024);
            return Err(CopyError::TooLarge(message));
        }
        self.bytes += copied;
        Ok(())
    }
}

/// A new file, which its owner can run if that is true of the source.
fn new_file(source: &File, to: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    file::private_program_like(&mut options, &source.metadata()?).open(to)
}

#[cfg(all(test, unix))]
#[expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]
mod tests {
    use std::fs;

    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn folders() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("copy");
        fs::create_dir(folder.path().join("from")).unwrap();
        (folder, to)
    }

    #[test]
    fn files_and_folders_are_copied_and_links_are_not() {
        let (folder, to) = folders();
        let from = folder.path().join("from");
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b/run.sh"), "x").unwrap();
        fs::set_permissions(from.join("a/b/run.sh"), PermissionsExt::from_mode(0o700)).unwrap();
        fs::write(folder.path().join("secret"), "s").unwrap();
        symlink(folder.path().join("secret"), from.join("link")).unwrap();
        symlink(folder.path(), from.join("a/up")).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(from.join("socket")).unwrap();
        copy(&from, &to).unwrap();
        drop(socket);
        assert_eq!(fs::read_to_string(to.join("a/b/run.sh")).unwrap(), "x");
        let mode = fs::metadata(to.join("a/b/run.sh"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
        let mode = fs::metadata(to.join("a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        for left_out in ["link", "a/up", "socket"] {
            assert!(to.join(left_out).symlink_metadata().is_err(), "{left_out}");
        }
    }

    #[test]
    fn a_folder_with_too_many_entries_is_refused() {
        let (folder, to) = folders();
        for at in 0..=MAX_ENTRIES {
            File::create(folder.path().join("from").join(at.to_string())).unwrap();
        }
        let error = copy(&folder.path().join("from"), &to).unwrap_err();
        assert_eq!(error.to_string(), "more than 20000 files and folders");
    }

    #[test]
    fn too_large_or_deep_folder_is_refused() {
        let (folder, to) = folders();
        let from = folder.path().join("from");
        let large = File::create(from.join("large")).unwrap();
        // Sparse: the copy stops at its limit.
        large.set_len(MAX_BYTES + 1).unwrap();
        let mut copied = Copied {
            bytes: MAX_BYTES - 10,
            entries: 0,
        };
        let error = copied.folder(&from, &to, 0).unwrap_err();
        assert_eq!(error.to_string(), "more than 512 MiB");
        fs::remove_file(from.join("large")).unwrap();
        fs::create_dir_all(from.join("d/".repeat(40))).unwrap();
        let error = copy(&from, &folder.path().join("other")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "more than 32 folders inside of each other"
        );
    }
}
