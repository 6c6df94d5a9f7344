//! Bringing the rows of one folder in step with its files.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use codex_protocol::ThreadId;
use codex_rollout::parse_file_name;

use crate::database::Database;
use crate::file::{read_again, read_row};
use crate::record::Stamp;

/// The work on a folder, which can be put down after every file.
pub(crate) struct FolderWork {
    folder: String,
    files: std::vec::IntoIter<(String, ThreadId)>,
    known: HashMap<String, (ThreadId, Stamp)>,
    /// Whether its files could be told; if not, nothing is known of them.
    is_readable: bool,
}

impl FolderWork {
    pub(crate) fn start(home: &Path, database: &Database, folder: &str) -> rusqlite::Result<Self> {
        let known = database.folder(folder)?;
        let listed = files_of(&home.join(folder));
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

    pub(crate) fn folder(&self) -> &str {
        &self.folder
    }

    /// Works until it is done, which it answers, or out of time.
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
                    database.remove(&id, &self.folder, &file)?;
                }
            }
            Ok(true)
        })
    }
}

/// The rollouts of a folder, newest first. A folder that is not there has none.
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

/// Brings the row of one file in step with it. `known` is the state in which it was read. Answers
/// whether the row is another one now.
pub(crate) fn refresh(
    home: &Path,
    database: &Database,
    folder: &str,
    file: &str,
    id: &ThreadId,
    known: Option<Stamp>,
) -> rusqlite::Result<bool> {
    let path = home.join(folder).join(file);
    let stamp = match path.metadata() {
        Ok(metadata) => Stamp::of(&metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            database.remove(id, folder, file)?;
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
        Some((row, _)) if (&*row.folder, &*row.file) == (folder, file) => read_again(&path, row),
        // A copy of a thread: the one that sorts last is the thread.
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
