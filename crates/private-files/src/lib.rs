//! Layer: foundation. Files and folders that nobody but their owner may read.
//!
//! What this program keeps in its home folder holds conversations and keys. It is made with the modes 0600
//! and 0700, whatever the umask of the process says; the umask itself stays as it is, as it belongs to the
//! commands that are run as well. Where there are no such modes, nothing is done about them.

pub mod secret_file;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// What programs like this one have in their home folder. Older releases made it with the usual modes.
const KEPT: [&str; 19] = [
    ".credentials.json",
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
    "queue_1.sqlite",
    "session_index.jsonl",
    "sessions",
    "shell_snapshots",
    "state_5.sqlite",
    "thread_history_1.sqlite",
];

/// Makes a folder and those above it that are missing. Those that exist keep their modes.
///
/// # Errors
/// It cannot be made.
pub fn create_dir_all(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a file as the options say; one that is made is private, and so is one of ours from now on that
/// was not.
///
/// # Errors
/// It cannot be opened.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    let file = options.open(path)?;
    tighten(path);
    Ok(file)
}

/// Makes an empty file if there is none, and takes the rights of others away from one that there is.
///
/// A file that exists is not opened: closing it again would give up the locks that this process has on it.
///
/// # Errors
/// It cannot be made.
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

/// Writes a file as a whole.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    open(path, &mut options)?.write_all(bytes)
}

/// Takes the rights of others away from what an older release left in a home folder. The folder itself
/// keeps its mode: it may hold what is not ours.
pub fn tighten_home(home: &Path) {
    for name in KEPT {
        tighten(&home.join(name));
    }
}

/// Takes the rights of others away from a file or a folder. A link leads to what is not ours; what belongs
/// to somebody else who lets us write to it stays as it is.
#[cfg(unix)]
fn tighten(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let Ok(metadata) = path.symlink_metadata() else {
        return;
    };
    let mode = metadata.permissions().mode();
    if (metadata.is_file() || metadata.is_dir()) && mode & 0o077 != 0 {
        let private = std::fs::Permissions::from_mode(mode & 0o700);
        if let Err(error) = std::fs::set_permissions(path, private) {
            tracing::debug!(path = %path.display(), %error, "the mode of a file stays");
        }
    }
}

#[cfg(not(unix))]
fn tighten(_: &Path) {}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
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
    fn what_is_made_is_private_and_what_is_opened_becomes_it() {
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
    fn what_older_releases_left_is_tightened_and_links_are_not_followed() {
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
