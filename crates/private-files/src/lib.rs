//! Layer: foundation. Creates files and folders that only their owner can read.
//!
//! The home folder contains conversations and keys. Its entries get the modes 0600 and 0700, whatever the umask is.
//! The umask itself is not changed, because the commands that are run inherit it. On systems without such modes
//! nothing is done.

pub mod secret_file;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use codex_system::file;

/// The entries of a home folder. Older releases created them with the usual modes.
const PRIVATE_NAMES: [&str; 21] = [
    ".credentials.json",
    ".tmp",
    "archived_sessions",
    "auth.json",
    "cloud-requirements-cache.json",
    "feedback",
    "generated_images",
    "goals_1.sqlite",
    "history.jsonl",
    "log",
    "logs_2.sqlite",
    "memories",
    "memories_1.sqlite",
    "models_cache.json",
    "plugins",
    "queue_1.sqlite",
    "session_index.jsonl",
    "sessions",
    "shell_snapshots",
    "state_5.sqlite",
    "thread_history_1.sqlite",
];

/// Creates a private folder and its missing parents. Existing folders keep their modes.
///
/// # Errors
pub fn create_dir_all(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    file::private_folder(builder.recursive(true)).create(path)
}

/// Opens a file with these options. A new file is private, and an existing one of this user becomes private.
///
/// # Errors
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = codex_regular_file::open_with(file::private(options), path)?;
    tighten(path);
    Ok(file)
}

/// Creates an empty file if there is none, and makes an existing one private.
///
/// An existing file is not opened, because closing it would release the locks of this process on it.
///
/// # Errors
pub fn ensure(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    match open(path, &mut options) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            tighten(path);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Writes a whole file.
///
/// # Errors
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    open(path, &mut options)?.write_all(bytes)
}

/// Brings a file that is there onto the disk, with its entry.
///
/// # Errors
pub fn synchronise(path: &Path) -> io::Result<()> {
    // Some systems want the right to write.
    open(path, OpenOptions::new().append(true))?.sync_data()?;
    synchronise_entry(path);
    Ok(())
}

/// Brings the entry of a file or folder in its folder onto the disk: after that, a power cut neither takes a new name away nor
/// brings an old one back. Some systems and file systems do this by themselves and do not let a program ask for it.
pub fn synchronise_entry(path: &Path) {
    let folder = path.parent().unwrap_or(Path::new("."));
    let synchronised = File::open(folder).and_then(|folder| folder.sync_all());
    if let Err(error) = synchronised {
        tracing::debug!(path = %path.display(), %error, "the entry of a file is not synchronised");
    }
}

/// Makes the entries of a home folder private that an older release created. The folder itself keeps its mode, as
/// it may contain files of other programs.
pub fn tighten_home(home: &Path) {
    for name in PRIVATE_NAMES {
        tighten(&home.join(name));
    }
}

/// Makes a folder and everything in it private. Owners can still run what they could run. Links are not followed.
pub fn tighten_tree(folder: &Path) {
    tighten(folder);
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            tracing::debug!(path = %folder.display(), %error, "the modes in a folder stay");
            return;
        }
    };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => tighten_tree(&entry.path()),
            Ok(kind) if kind.is_file() => tighten(&entry.path()),
            _ => {}
        }
    }
}

/// Makes a file or folder private, but not what is in a folder. Links and entries of other users are left unchanged.
pub fn tighten(path: &Path) {
    if let Err(error) = file::make_private(path) {
        tracing::debug!(path = %path.display(), %error, "the mode of a file stays");
    }
}

#[cfg(all(test, unix))]
#[expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    fn widen(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn created_and_opened_files_become_private() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/b");
        create_dir_all(&folder).unwrap();
        assert_eq!(
            (mode(&home.path().join("a")), mode(&folder)),
            (0o700, 0o700)
        );
        let file = folder.join("c");
        write(&file, b"one").unwrap();
        assert_eq!(mode(&file), 0o600);
        widen(&file, 0o644);
        write(&file, b"two").unwrap();
        assert_eq!(mode(&file), 0o600);
        widen(&file, 0o644);
        ensure(&file).unwrap();
        ensure(&folder.join("d")).unwrap();
        assert_eq!((mode(&file), mode(&folder.join("d"))), (0o600, 0o600));
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
        let device = Path::new("/dev/null");
        let before = mode(device);
        write(device, b"three").unwrap();
        assert_eq!(mode(device), before);
    }

    #[test]
    fn old_file_modes_are_tightened_without_following_links() {
        let home = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::fs::create_dir(at("sessions")).unwrap();
        std::fs::create_dir(at("mine")).unwrap();
        std::fs::write(at("auth.json"), "{}").unwrap();
        std::os::unix::fs::symlink(outside.path(), at("log")).unwrap();
        widen(outside.path(), 0o755);
        for name in ["sessions", "mine", "auth.json"] {
            widen(&at(name), 0o755);
        }
        tighten_home(home.path());
        let modes = ["sessions", "mine", "auth.json", "log"].map(|name| mode(&at(name)));
        assert_eq!(modes, [0o700, 0o755, 0o700, 0o755]);
    }
}
