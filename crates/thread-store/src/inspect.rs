//! Compares all rollouts with the index, for diagnosis. Changes nothing.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use codex_protocol::ThreadId;
use codex_rollout::{ARCHIVED_FOLDER, day_folders, folder_name, folder_path, parse_file_name};

use crate::database::Database;
use crate::file::read_row;
use crate::index::FILE_NAME;
use crate::record::FileStamp;

/// The result of an inspection.
#[derive(Debug, Default)]
pub struct Inspection {
    /// The thread and file of every rollout.
    pub rollouts: Vec<(ThreadId, PathBuf)>,
    /// Files with the name of a rollout that cannot be read, and why.
    pub unreadable: Vec<(PathBuf, String)>,
    /// Rollouts whose last line is incomplete.
    pub torn: Vec<PathBuf>,
    pub index: IndexState,
}

/// The state of the index.
#[derive(Debug, Default)]
pub enum IndexState {
    /// There is no index yet.
    #[default]
    Missing,
    /// The index cannot be read, and why.
    Unusable(String),
    /// How far the index differs from the files. It catches up by itself.
    Read {
        /// The number of threads in the index.
        threads: usize,
        /// Files that are missing in the index or have changed since they were read.
        behind: Vec<PathBuf>,
        /// Files in the index that no longer exist.
        gone: Vec<PathBuf>,
    },
}

/// Inspects all rollouts below a home folder, whose index is in `folder`.
#[must_use]
pub fn inspect(home: &Path, folder: &Path) -> Inspection {
    let mut found = Inspection::default();
    let mut seen = Vec::new();
    let mut days = day_folders(home);
    days.push(PathBuf::from(ARCHIVED_FOLDER));
    for day in days {
        for (file, id) in files_of(&home.join(&day)) {
            let path = home.join(&day).join(&file);
            if let Some(stamp) = look_at(&path, &id, &mut found) {
                seen.push((folder_name(&day), file, stamp));
            }
            found.rollouts.push((id, path));
        }
    }
    found.index = match compare(home, folder, &seen) {
        Ok(state) => state,
        Err(error) => IndexState::Unusable(error.to_string()),
    };
    found
}

fn files_of(folder: &Path) -> Vec<(String, ThreadId)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut files: Vec<_> = names
        .filter_map(|name| {
            let (_, id) = parse_file_name(&name)?;
            Some((name, id))
        })
        .collect();
    files.sort_unstable();
    files
}

fn look_at(path: &Path, id: &ThreadId, found: &mut Inspection) -> Option<FileStamp> {
    match read_row(path, id, String::new(), String::new()) {
        Err(error) => {
            found.unreadable.push((path.to_owned(), error.to_string()));
            None
        }
        Ok(row) => {
            if let Some(problem) = row.problem {
                found.unreadable.push((path.to_owned(), problem));
            } else if is_torn(path).unwrap_or_default() {
                found.torn.push(path.to_owned());
            }
            Some(row.stamp)
        }
    }
}

fn is_torn(path: &Path) -> io::Result<bool> {
    let mut file = codex_regular_file::open(path)?;
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

fn compare(
    home: &Path,
    folder: &Path,
    seen: &[(String, String, FileStamp)],
) -> rusqlite::Result<IndexState> {
    let path = folder.join(FILE_NAME);
    if !path.exists() {
        return Ok(IndexState::Missing);
    }
    let database = Database::open_to_read(&path)?;
    let mut known = database.stamps()?;
    let threads = known.len();
    let place = |folder: &str, file: &str| folder_path(home, folder).join(file);
    let mut behind = Vec::new();
    for (folder, file, stamp) in seen {
        if known.remove(&(folder.clone(), file.clone())) != Some(*stamp) {
            behind.push(place(folder, file));
        }
    }
    let mut gone: Vec<PathBuf> = known
        .keys()
        .map(|(folder, file)| place(folder, file))
        .filter(|path| !path.exists())
        .collect();
    gone.sort_unstable();
    Ok(IndexState::Read {
        threads,
        behind,
        gone,
    })
}
