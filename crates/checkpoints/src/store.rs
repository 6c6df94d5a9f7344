//! The store of all threads: contents, manifests, limits.
//!
//! Several processes may use one store. A content that nothing refers to is removed once it is a day old, so that a
//! process that has just stored it has the time to write its manifest.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::blobs::BlobStore;
use crate::manifest::{Checkpoint, Manifest, contents};
use crate::state::ContentHash;

/// How old a content must be to be removed when nothing refers to it.
const UNREFERENCED_TIME: Duration = Duration::from_secs(24 * 60 * 60);
/// How old a temporary file must be to be one that was left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(60 * 60);

/// What is kept, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointLimits {
    /// Larger files are not kept.
    pub max_file_bytes: u64,
    /// The size of the store.
    pub max_total_bytes: u64,
    /// Threads that have changed nothing for longer are forgotten. None: never.
    pub keep: Option<Duration>,
    /// How many files are copied before a command and after it.
    pub max_copied_files: usize,
    /// How many bytes are copied before a command and after it.
    pub max_copied_bytes: u64,
    /// Folders with more files and folders in them are not watched.
    pub max_entries: usize,
    /// Folders that take longer to go through are not watched.
    pub max_walk: Duration,
}

impl Default for CheckpointLimits {
    fn default() -> Self {
        Self {
            max_file_bytes: 10 * 1024 * 1024,
            max_total_bytes: 1024 * 1024 * 1024,
            keep: Some(Duration::from_secs(30 * 24 * 60 * 60)),
            max_copied_files: 5_000,
            max_copied_bytes: 64 * 1024 * 1024,
            max_entries: 600_000,
            max_walk: Duration::from_secs(5),
        }
    }
}

/// The folder `checkpoints` of a home folder.
#[derive(Debug)]
pub struct CheckpointStore {
    root: PathBuf,
    home: PathBuf,
    pub(crate) blobs: BlobStore,
    limits: CheckpointLimits,
}

/// A thread whose id cannot be the name of a file.
fn bad_thread() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not the id of a thread")
}

impl CheckpointStore {
    /// The store of a home folder. Nothing is made before there is something to keep.
    #[must_use]
    pub fn new(home: &Path, limits: CheckpointLimits) -> Self {
        let root = home.join("checkpoints");
        Self {
            blobs: BlobStore::new(&root, limits.max_total_bytes),
            root,
            home: codex_mounts::canonicalize(home).unwrap_or_else(|_| home.to_owned()),
            limits,
        }
    }

    /// Makes the folders.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        for folder in [&self.threads(), &self.journals()] {
            codex_private_files::create_dir_all(folder)?;
        }
        self.blobs.prepare()
    }

    /// Whether anything was ever kept.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.threads().is_dir()
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &CheckpointLimits {
        &self.limits
    }

    /// The home folder, which is never watched.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn journals(&self) -> PathBuf {
        self.root.join("journal")
    }

    pub(crate) fn restore_lock(&self) -> PathBuf {
        self.root.join("restore.lock")
    }

    fn threads(&self) -> PathBuf {
        self.root.join("threads")
    }

    pub(crate) fn manifest(&self, thread: &str) -> io::Result<Manifest> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if thread.is_empty() || thread.len() > 128 || !thread.bytes().all(is_plain) {
            return Err(bad_thread());
        }
        Ok(Manifest::new(&self.threads(), thread))
    }

    /// The checkpoints of a thread, oldest first.
    ///
    /// # Errors
    /// The manifest cannot be read, or is of a later version.
    pub fn checkpoints(&self, thread: &str) -> io::Result<Vec<Checkpoint>> {
        let mut found = self.manifest(thread)?.read()?;
        found.retain(|checkpoint| !checkpoint.changes.is_empty());
        Ok(found)
    }

    /// The threads with changes since this time, in seconds since 1970.
    pub(crate) fn threads_since(&self, since: i64) -> io::Result<Vec<String>> {
        let since = Duration::from_secs(u64::try_from(since).unwrap_or(0));
        let since = SystemTime::UNIX_EPOCH + since;
        let recent = files(&self.threads())?.into_iter();
        let recent = recent.filter(|file| file.modified >= since);
        let names = recent.filter_map(|file| Some(file.path.file_stem()?.to_str()?.to_owned()));
        Ok(names.collect())
    }

    /// The checkpoint of the last turn whose changes were not taken back.
    ///
    /// # Errors
    /// The manifest cannot be read, or is of a later version.
    pub fn last_turn(&self, thread: &str) -> io::Result<Option<Checkpoint>> {
        let mut checkpoints = self.checkpoints(thread)?;
        while let Some(last) = checkpoints.pop() {
            let Some(restored) = &last.restored else {
                return Ok(Some(last));
            };
            // All since then is as it was before.
            if let Some(at) = checkpoints.iter().position(|it| it.id == *restored) {
                checkpoints.truncate(at);
            }
        }
        Ok(None)
    }

    /// Forgets a thread. Its contents are removed by the next sweep.
    ///
    /// # Errors
    /// The manifest cannot be removed.
    pub fn delete_thread(&self, thread: &str) -> io::Result<()> {
        match fs::remove_file(self.manifest(thread)?.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes what is too old, too much, or referred to by nothing. One process does that at a time.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn sweep(&self, now: SystemTime) -> io::Result<()> {
        self.prepare()?;
        let mut options = File::options();
        options.write(true).create(true);
        let lock = codex_private_files::open(&self.root.join("sweep.lock"), &mut options)?;
        if lock.try_lock().is_err() {
            return Ok(());
        }
        for file in files(self.blobs.scratch())? {
            if file.is_older(now, LEFT_BEHIND) {
                let _ = fs::remove_file(&file.path);
            }
        }
        let kept = self.drop_threads(now)?;
        let used = self.drop_contents(now, &kept)?;
        self.blobs
            .set_room(self.limits.max_total_bytes.saturating_sub(used));
        Ok(())
    }

    /// Removes the manifests that are too old, and the oldest ones if all refer to too much. Returns the contents
    /// that the others refer to.
    fn drop_threads(&self, now: SystemTime) -> io::Result<HashMap<ContentHash, u64>> {
        let mut manifests = files(&self.threads())?;
        manifests.sort_by_key(|file| std::cmp::Reverse(file.modified));
        let mut kept: HashMap<ContentHash, u64> = HashMap::new();
        let mut total = 0_u64;
        for (index, file) in manifests.into_iter().enumerate() {
            let is_old = self
                .limits
                .keep
                .is_some_and(|keep| file.is_older(now, keep));
            let thread = file.path.file_stem().and_then(|stem| stem.to_str());
            let Some(manifest) = thread.and_then(|thread| self.manifest(thread).ok()) else {
                continue;
            };
            let checkpoints = match manifest.read() {
                Ok(checkpoints) => checkpoints,
                // What it refers to is not known, so nothing may be removed because of it.
                Err(error) if error.kind() == io::ErrorKind::Unsupported => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, "a manifest of checkpoints cannot be read");
                    Vec::new()
                }
            };
            let own: HashMap<ContentHash, u64> = contents(&checkpoints)
                .filter(|(hash, _)| !kept.contains_key(hash))
                .collect();
            let size: u64 = own.values().sum();
            let is_too_much = index > 0 && total + size > self.limits.max_total_bytes;
            if is_old || is_too_much {
                fs::remove_file(&file.path)?;
            } else {
                total += size;
                kept.extend(own);
            }
        }
        Ok(kept)
    }

    /// Removes the contents that are not kept. Returns the size of all others.
    fn drop_contents(&self, now: SystemTime, kept: &HashMap<ContentHash, u64>) -> io::Result<u64> {
        let mut used = 0;
        for folder in codex_mounts::read_dir(self.blobs.folder())? {
            let folder = folder?.path();
            let prefix = folder.file_name().and_then(|name| name.to_str());
            let prefix = prefix.unwrap_or_default().to_owned();
            for file in files(&folder)? {
                let name = file.path.file_name().and_then(|name| name.to_str());
                let hash = name.and_then(|name| format!("{prefix}{name}").parse().ok());
                let is_kept = hash.is_some_and(|hash: ContentHash| kept.contains_key(&hash));
                // Its time is read again, since somebody may have needed it meanwhile.
                let is_old = || {
                    StoredFile::from_path(file.path.clone())
                        .is_some_and(|f| f.is_older(now, UNREFERENCED_TIME))
                };
                if is_kept || !is_old() || fs::remove_file(&file.path).is_err() {
                    used += file.size;
                }
            }
        }
        Ok(used)
    }
}

struct StoredFile {
    path: PathBuf,
    size: u64,
    modified: SystemTime,
}

impl StoredFile {
    fn from_path(path: PathBuf) -> Option<Self> {
        let metadata = path.metadata().ok()?;
        Some(Self {
            size: metadata.len(),
            modified: metadata.modified().ok()?,
            path,
        })
    }

    fn is_older(&self, now: SystemTime, age: Duration) -> bool {
        now.duration_since(self.modified).is_ok_and(|is| is > age)
    }
}

fn files(folder: &Path) -> io::Result<Vec<StoredFile>> {
    let entries = match codex_mounts::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            found.extend(StoredFile::from_path(entry.path()));
        }
    }
    Ok(found)
}
