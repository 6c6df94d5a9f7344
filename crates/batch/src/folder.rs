//! The run folder of a batch.
//!
//! ```text
//! batch.json           the settings
//! rows.jsonl           the rows, one in each line
//! claims/N.json        who works on row N
//! threads/N.json       the thread of row N, once it has one
//! results/N.json       the result of row N
//! earlier/             results of rows that are tried again
//! workers/ID/          the home folder with the threads of a worker
//! ```
//!
//! All of it works on a file system that machines share: files are created exclusively, linked and renamed, and never locked.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::RunBudget;
use crate::tasks::BatchRow;

/// The form of the folder that this version writes.
const VERSION: u32 = 1;
/// The largest file that is read here.
const LIMIT: u64 = 1 << 30;

/// A run folder.
#[derive(Debug)]
pub struct BatchFolder {
    path: PathBuf,
    pub settings: BatchSettings,
    pub rows: Vec<BatchRow>,
}

/// What holds for all rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchSettings {
    pub version: u32,
    /// How long a claim holds that nobody renews.
    pub lease_seconds: u64,
    #[serde(default)]
    pub budget: RunBudget,
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self {
            version: VERSION,
            lease_seconds: 60,
            budget: RunBudget::default(),
        }
    }
}

/// How a row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RowStatus {
    /// The turn failed, or could not begin.
    Failed,
    /// The turn completed, and a check did not succeed.
    CheckFailed,
    /// The row or the run had used what it may.
    OverLimit,
    /// The turn completed, and all checks succeeded.
    Passed,
}

/// What a row has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RowUsage {
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub output_tokens: u64,
    pub requests: u64,
    /// In US dollars; absent if the price of the model is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl RowUsage {
    /// All tokens.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.input_tokens += other.input_tokens;
        self.cached_input_tokens += other.cached_input_tokens;
        self.output_tokens += other.output_tokens;
        self.requests += other.requests;
        if let Some(cost) = other.cost {
            *self.cost.get_or_insert_default() += cost;
        }
    }
}

/// The end of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckResult {
    pub command: String,
    /// Absent if it could not be run.
    pub exit_code: Option<i64>,
    /// The end of what it wrote.
    pub output: String,
}

/// The result of a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RowResult {
    pub index: usize,
    pub id: String,
    pub status: RowStatus,
    /// The last message of the model.
    pub message: Option<String>,
    /// The same as JSON, if the row has a schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckResult>,
    pub usage: RowUsage,
    /// How long the last worker worked on it.
    pub seconds: f64,
    pub thread_id: Option<String>,
    /// The file of the thread.
    pub rollout: Option<PathBuf>,
    pub worker: String,
    pub host: String,
}

/// The thread of a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RowThread {
    pub(crate) thread_id: String,
    pub(crate) rollout: Option<PathBuf>,
}

/// Why a run folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    #[error("{0} is not empty; a batch needs a new folder")]
    NotEmpty(PathBuf),
    #[error("{0} is not a run folder; `codex batch create` creates one")]
    NoBatch(PathBuf),
    #[error("{path} has the format version {found}; this program reads version {VERSION}")]
    Version { path: PathBuf, found: u32 },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} cannot be read: {reason}")]
    Content { path: PathBuf, reason: String },
    #[error("row {index} does not exist: the batch has {rows} rows, from 0 on")]
    NoRow { index: usize, rows: usize },
}

/// What is in a run folder.
const FOLDERS: [&str; 5] = ["claims", "threads", "results", "earlier", "workers"];

/// Refuses a run folder whose parts lie elsewhere: others may have made it.
fn check_folders(path: &Path) -> Result<(), BatchError> {
    for folder in FOLDERS.map(|name| path.join(name)) {
        let about = fs::symlink_metadata(&folder).map_err(error_at(&folder))?;
        if !about.is_dir() {
            return Err(BatchError::Content {
                path: folder,
                reason: "it is no folder of its own".to_owned(),
            });
        }
    }
    Ok(())
}

fn error_at(path: &Path) -> impl FnOnce(io::Error) -> BatchError {
    move |source| BatchError::Io {
        path: path.to_owned(),
        source,
    }
}

impl BatchFolder {
    /// Makes a run folder.
    ///
    /// # Errors
    /// It is there and not empty, or cannot be written.
    pub fn create(
        path: &Path,
        settings: BatchSettings,
        rows: Vec<BatchRow>,
    ) -> Result<Self, BatchError> {
        fs::create_dir_all(path).map_err(error_at(path))?;
        let path = std::path::absolute(path).map_err(error_at(path))?;
        if fs::read_dir(&path)
            .map_err(error_at(&path))?
            .next()
            .is_some()
        {
            return Err(BatchError::NotEmpty(path));
        }
        for name in FOLDERS {
            let folder = path.join(name);
            codex_private_files::create_dir_all(&folder).map_err(error_at(&folder))?;
        }
        let mut lines = Vec::new();
        for row in &rows {
            let line = serde_json::to_vec(row).map_err(io::Error::other);
            lines.extend(line.map_err(error_at(&path))?);
            lines.push(b'\n');
        }
        let file = path.join("rows.jsonl");
        codex_private_files::write(&file, &lines).map_err(error_at(&file))?;
        let folder = Self {
            path,
            settings,
            rows,
        };
        // Last: a folder with this file is complete.
        folder.replace(&folder.path.join("batch.json"), &folder.settings)?;
        Ok(folder)
    }

    /// Opens a run folder.
    ///
    /// # Errors
    /// It is none, or is damaged.
    pub fn open(path: &Path) -> Result<Self, BatchError> {
        let path = std::path::absolute(path).map_err(error_at(path))?;
        let file = path.join("batch.json");
        let settings: BatchSettings =
            read_json(&file)?.ok_or_else(|| BatchError::NoBatch(path.clone()))?;
        if settings.version != VERSION {
            return Err(BatchError::Version {
                path,
                found: settings.version,
            });
        }
        check_folders(&path)?;
        let file = path.join("rows.jsonl");
        let text = codex_regular_file::read_text(&file, LIMIT).map_err(error_at(&file))?;
        let rows: Result<Vec<BatchRow>, _> = text.lines().map(serde_json::from_str).collect();
        let rows = rows.map_err(|error| BatchError::Content {
            path: file,
            reason: error.to_string(),
        })?;
        Ok(Self {
            path,
            settings,
            rows,
        })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A row.
    ///
    /// # Errors
    /// There is none with this index.
    pub fn row(&self, index: usize) -> Result<&BatchRow, BatchError> {
        self.rows.get(index).ok_or(BatchError::NoRow {
            index,
            rows: self.rows.len(),
        })
    }

    pub(crate) fn file(&self, folder: &str, index: usize) -> PathBuf {
        self.path.join(folder).join(format!("{index}.json"))
    }

    /// The rows with a result. Blocks on the file system.
    pub(crate) fn finished(&self) -> io::Result<Vec<usize>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.path.join("results"))? {
            found.extend(index_of(&entry?.path()));
        }
        Ok(found)
    }

    pub(crate) fn has_result(&self, index: usize) -> bool {
        self.file("results", index).exists()
    }

    /// The result of a row; none if it has none yet.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn result(&self, index: usize) -> Result<Option<RowResult>, BatchError> {
        read_json(&self.file("results", index))
    }

    /// Writes the result of a row, unless it has one. Returns whether it was written.
    pub(crate) fn write_result(&self, result: &RowResult) -> Result<bool, BatchError> {
        let file = self.file("results", result.index);
        let new = self.write_new(&file, result)?;
        // A link never replaces what is there, on any machine.
        let linked = fs::hard_link(&new, &file);
        let removed = fs::remove_file(&new);
        match linked {
            Ok(()) => removed.map_err(error_at(&new)).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error_at(&file)(error)),
        }
    }

    pub(crate) fn thread(&self, index: usize) -> Result<Option<RowThread>, BatchError> {
        read_json(&self.file("threads", index))
    }

    pub(crate) fn write_thread(&self, index: usize, thread: &RowThread) -> Result<(), BatchError> {
        self.replace(&self.file("threads", index), thread)
    }

    /// Has the rows with these results tried again. Returns how many.
    ///
    /// # Errors
    /// A result cannot be read or moved.
    pub fn retry(&self, is_wanted: impl Fn(&RowResult) -> bool) -> Result<usize, BatchError> {
        let mut count = 0;
        for index in 0..self.rows.len() {
            let Some(result) = self.result(index)? else {
                continue;
            };
            if !is_wanted(&result) {
                continue;
            }
            // A new thread: the old one has ended. Before the result goes, so that nobody resumes it.
            let thread = self.file("threads", index);
            match fs::remove_file(&thread) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error_at(&thread)(error));
                }
                _ => {}
            }
            let file = self.file("results", index);
            let name = format!("{index}-{}.json", uuid::Uuid::now_v7());
            let earlier = self.path.join("earlier").join(name);
            fs::rename(&file, &earlier).map_err(error_at(&file))?;
            count += 1;
        }
        Ok(count)
    }

    /// Writes a file that no reader sees half.
    pub(crate) fn replace(&self, file: &Path, value: &impl Serialize) -> Result<(), BatchError> {
        let new = self.write_new(file, value)?;
        fs::rename(&new, file).map_err(error_at(file))
    }

    fn write_new(&self, file: &Path, value: &impl Serialize) -> Result<PathBuf, BatchError> {
        let new = file.with_extension(format!("{}.new", uuid::Uuid::now_v7()));
        create(&new, value).map_err(error_at(&new))?;
        Ok(new)
    }
}

/// The row whose file this is; none if it is the file of none.
pub(crate) fn index_of(path: &Path) -> Option<usize> {
    let is_whole = path
        .extension()
        .is_some_and(|extension| extension == "json");
    let index = path.file_stem()?.to_str()?.parse().ok();
    index.filter(|_| is_whole)
}

/// Creates a file, and fails if there is one.
pub(crate) fn create(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(value)?;
    bytes.push(b'\n');
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut file = codex_private_files::open(path, &mut options)?;
    file.write_all(&bytes)?;
    file.sync_data()
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, BatchError> {
    let bytes = match codex_regular_file::read(path, LIMIT) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error_at(path)(error)),
    };
    match serde_json::from_slice(&bytes) {
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(BatchError::Content {
            path: path.to_owned(),
            reason: error.to_string(),
        }),
    }
}
