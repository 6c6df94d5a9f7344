//! A worker: a process that works on rows. Its folder is the home of the threads that it runs, so that workers share no locks and
//! no databases.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::folder::BatchFolder;

/// Held by the process of the worker for as long as it lives.
const ALIVE_FILE: &str = "alive.lock";

/// A worker of this process.
#[derive(Debug)]
pub struct BatchWorker {
    id: String,
    host: String,
    home: PathBuf,
    _alive: File,
}

impl BatchWorker {
    /// A new worker on a batch.
    ///
    /// # Errors
    /// Its folder cannot be made.
    pub fn register(folder: &BatchFolder) -> io::Result<Self> {
        let id = uuid::Uuid::now_v7().to_string();
        let home = folder_of(folder, &id);
        codex_private_files::create_dir_all(&home)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let alive = codex_private_files::open(&home.join(ALIVE_FILE), &mut options)?;
        // Where the file system has no locks, the lease alone says whether a worker has ended.
        if let Err(error) = alive.lock() {
            tracing::debug!(%error, "a worker cannot be known to live");
        }
        Ok(Self {
            id,
            host: host(),
            home,
            _alive: alive,
        })
    }

    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of the machine, with what tells its starts apart.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The home folder of its threads.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The time by the clock of the file system, which is that of every worker.
    pub(crate) fn now(&self) -> io::Result<SystemTime> {
        let probe = self.home.join("clock");
        codex_private_files::write(&probe, b"now")?;
        fs::metadata(&probe)?.modified()
    }

    /// Whether a worker on this machine has certainly ended. Nothing is known about those on others.
    pub(crate) fn has_ended(&self, folder: &BatchFolder, worker: &str, host: &str) -> bool {
        if host != self.host || uuid::Uuid::parse_str(worker).is_err() {
            return false;
        }
        let alive = File::open(folder_of(folder, worker).join(ALIVE_FILE));
        alive.is_ok_and(|alive| alive.try_lock_shared().is_ok())
    }
}

fn folder_of(folder: &BatchFolder, worker: &str) -> PathBuf {
    folder.path().join("workers").join(worker)
}

fn host() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let name = read("/proc/sys/kernel/hostname");
    let boot = read("/proc/sys/kernel/random/boot_id");
    let (name, boot) = (name.trim(), boot.trim());
    if name.is_empty() || boot.is_empty() {
        // Then only the lease says whether a worker has ended.
        return format!("unknown-{}", uuid::Uuid::new_v4());
    }
    format!("{name}/{boot}")
}
