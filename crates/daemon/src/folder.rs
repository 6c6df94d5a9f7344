//! The files of the server in the background, below the home folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_system::background;

use crate::DaemonError;

/// The socket. Other programs rely on this path.
const SOCKET: &str = "app-server-control/app-server-control.sock";
/// The folder of the other files.
const FOLDER: &str = "app-server-daemon";
/// Its lock is held by the server.
const MARK: &str = "running.lock";
/// Its lock is held by a command that starts or ends the server.
const TURN: &str = "daemon.lock";
/// What the server says.
const LOG: &str = "daemon.stderr.log";

/// How long a command waits for another one.
const TURN_LIMIT: Duration = Duration::from_secs(45);
/// How often something is looked at that gives no notice.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The files of a home folder.
#[derive(Clone, Debug)]
pub struct DaemonFolder {
    home: PathBuf,
}

impl DaemonFolder {
    #[must_use]
    pub fn of_home(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
        }
    }

    /// The socket of the server.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.home.join(SOCKET)
    }

    /// Creates the folder of the socket, accessible for its owner only.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn make_socket_folder(&self) -> Result<(), DaemonError> {
        let socket = self.socket();
        let folder = socket.parent().unwrap_or(&self.home);
        codex_private_files::create_dir_all(folder).map_err(|source| failed(folder, source))
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn mark(&self) -> PathBuf {
        self.home.join(FOLDER).join(MARK)
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.home.join(FOLDER).join(LOG)
    }

    /// Creates the folder of the other files.
    pub(crate) fn make(&self) -> Result<(), DaemonError> {
        let folder = self.home.join(FOLDER);
        codex_private_files::create_dir_all(&folder).map_err(|source| failed(&folder, source))?;
        let mark = self.mark();
        codex_private_files::ensure(&mark).map_err(|source| failed(&mark, source))
    }

    /// The process of the server.
    pub(crate) fn process(&self) -> Result<Option<u32>, DaemonError> {
        let mark = self.mark();
        background::marked(&mark).map_err(|source| failed(&mark, source))
    }

    /// Waits until no other command starts or ends the server.
    pub(crate) async fn turn(&self) -> Result<File, DaemonError> {
        self.make()?;
        let path = self.home.join(FOLDER).join(TURN);
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false);
        let file = codex_private_files::open(&path, options);
        let file = file.map_err(|source| failed(&path, source))?;
        let waiting = async {
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok(()),
                    Err(TryLockError::WouldBlock) => tokio::time::sleep(POLL_INTERVAL).await,
                    Err(TryLockError::Error(source)) => return Err(failed(&path, source)),
                }
            }
        };
        let waited = tokio::time::timeout(TURN_LIMIT, waiting).await;
        waited.map_err(|_| DaemonError::Busy)??;
        Ok(file)
    }
}

pub(crate) fn failed(path: &Path, source: io::Error) -> DaemonError {
    DaemonError::File {
        path: path.to_owned(),
        source,
    }
}
