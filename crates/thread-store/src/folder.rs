//! Updates the rows of one folder from its files.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;
use std::{fs, io};

use codex_protocol::ThreadId;
use codex_rollout::{folder_path, parse_file_name};

use crate::database::Database;
use crate::file::{read_row, update_row};
use crate::record::FileStamp;

/// Work on one folder, which can be suspended after each file.
pub(crate) struct FolderWork {
    folder: String,
    files: std::vec::IntoIter<(String, ThreadId)>,
    known: HashMap<String, (ThreadId, FileStamp)>,
    /// Whether the folder could be read. If not, its rows are left as they are.
    is_readable: bool,
}

impl FolderWork {
    pub(crate) fn start(home: &Path, database: &Database, folder: &str) -> rusqlite::Result<Self> {
        let known = database.folder(folder)?;
        let listed = files_of(&folder_path(home, folder));
        if let Err(error) = &listed {
            tracing::warn!(folder, %error, "cannot read a folder of rollouts");
        }
        Ok(Self {
            folder: folder.to_owned(),
            known,
            is_readable: listed.is_ok(),
            files: listed.unwrap_or_default().into_iter(),
        })
    }

    /// Leaves out the files whose names are known.
    pub(crate) fn only_changed_names(mut self) -> Self {
        let mut files: Vec<_> = self.files.collect();
        files.retain(|(file, _)| self.known.remove(file).is_none());
        self.files = files.into_iter();
        self
    }

    pub(crate) fn folder(&self) -> &str {
        &self.folder
    }

    /// Works until `deadline`. Returns whether the folder is done.
    pub(crate) fn work(
        &mut self,
        home: &Path,
        database: &Database,
        deadline: Instant,
    ) -> rusqlite::Result<bool> {
        database.atomically(|| {
            for (file, id) in self.files.by_ref() {
                let known = self.known.remove(&file);
                let stamp = known.map(|(_, stamp)| stamp);
                refresh(home, database, &self.folder, &file, &id, stamp)?;
                if Instant::now() > deadline {
                    return Ok(false);
                }
            }
            if self.is_readable {
                for (file, (id, _)) in self.known.drain() {
                    remove(home, database, &self.folder, &file, &id)?;
                }
            }
            Ok(true)
        })
    }
}

/// The rollouts in a folder, newest first. Empty if the folder does not exist.
fn files_of(folder: &Path) -> io::Result<Vec<(String, ThreadId)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files: Vec<(String, ThreadId)> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| {
            let (_, id) = parse_file_name(&name)?;
            Some((name, id))
        })
        .collect();
    files.sort_unstable_by(|left, right| right.0.cmp(&left.0));
    Ok(files)
}

/// Removes the row of a file that is gone, and reads the file where archiving or its opposite has moved it.
fn remove(
    home: &Path,
    database: &Database,
    folder: &str,
    file: &str,
    id: &ThreadId,
) -> rusqlite::Result<()> {
    database.remove(id, folder, file)?;
    let moved = codex_rollout::moved_folder(folder, file);
    if let Some(moved) = moved.filter(|moved| folder_path(home, moved).join(file).exists()) {
        refresh(home, database, &moved, file, id, None)?;
    }
    Ok(())
}

/// Updates the row of one file. `known` is the state of the file when its row was read. Returns whether the
/// row has changed.
pub(crate) fn refresh(
    home: &Path,
    database: &Database,
    folder: &str,
    file: &str,
    id: &ThreadId,
    known: Option<FileStamp>,
) -> rusqlite::Result<bool> {
    let path = folder_path(home, folder).join(file);
    let stamp = match path.metadata() {
        Ok(metadata) => FileStamp::from_metadata(&metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            remove(home, database, folder, file, id)?;
            return Ok(true);
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "cannot look at a rollout");
            return Ok(false);
        }
    };
    if known == Some(stamp) {
        return Ok(false);
    }
    let row = match database.get(id)? {
        Some((row, _)) if (&*row.folder, &*row.file) == (folder, file) => update_row(&path, row),
        // A thread may have several files: the one whose name sorts last is current.
        Some((other, _))
            if (&*other.folder, &*other.file) > (folder, file) && other.path(home).exists() =>
        {
            return Ok(false);
        }
        _ => read_row(&path, id, folder.to_owned(), file.to_owned()),
    };
    match row {
        Ok(row) => {
            if let Some(problem) = &row.problem {
                tracing::warn!(path = %path.display(), problem, "a rollout is left out");
            }
            database.put(&row)?;
            Ok(true)
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "cannot read a rollout");
            Ok(false)
        }
    }
}
