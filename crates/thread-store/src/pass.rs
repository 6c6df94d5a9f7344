//! A pass over all folders, newest first, in time slices.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use codex_rollout::{ARCHIVED_FOLDER, SESSIONS, day_folders, folder_name};
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::database::Database;
use crate::folder::FolderWork;

/// How many of the newest days are visited before the archive; the other days follow it.
const NEWEST_DAYS: usize = 3;

/// A running pass.
pub(crate) struct IndexPass {
    pub(crate) began: Instant,
    /// The folders to visit, the next one last; none before they are listed.
    folders: Option<Vec<String>>,
    current: Option<FolderWork>,
    /// All active threads created at or after this time are in the index.
    floor: i64,
}

impl IndexPass {
    /// A new pass. The folders are listed when work begins.
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            folders: None,
            current: None,
            floor: i64::MAX,
        }
    }

    /// Works until `deadline`. Returns whether the pass is complete.
    pub(crate) fn work(
        &mut self,
        home: &Path,
        database: &Database,
        deadline: Instant,
    ) -> rusqlite::Result<bool> {
        let mut folders = match self.folders.take() {
            Some(folders) => folders,
            None => folders_of(home, database)?,
        };
        // One transaction for many folders, because most are unchanged.
        let outcome = database.atomically(|| {
            loop {
                let mut work = match self.current.take() {
                    Some(work) => work,
                    None => match folders.pop() {
                        Some(folder) => FolderWork::start(home, database, &folder)?,
                        None => return Ok(true),
                    },
                };
                if !work.work(home, database, deadline)? {
                    self.current = Some(work);
                    return Ok(false);
                }
                if let Some(floor) = floor_of(work.folder()) {
                    self.floor = floor;
                }
                if Instant::now() > deadline {
                    return Ok(false);
                }
            }
        });
        self.folders = Some(folders);
        outcome
    }

    pub(crate) fn floor(&self) -> i64 {
        self.floor
    }
}

/// Every folder to visit, the next one last. Folders that no longer exist are visited last.
fn folders_of(home: &Path, database: &Database) -> rusqlite::Result<Vec<String>> {
    let days = day_folders(home);
    let mut folders: Vec<String> = days.iter().map(|folder| folder_name(folder)).collect();
    folders.insert(NEWEST_DAYS.min(folders.len()), ARCHIVED_FOLDER.to_owned());
    let there: HashSet<&String> = folders.iter().collect();
    let mut gone = database.folders()?;
    gone.retain(|folder| !there.contains(folder));
    folders.extend(gone);
    folders.reverse();
    Ok(folders)
}

/// The time, in any time zone, before which all threads in folders older than this one were created.
fn floor_of(folder: &str) -> Option<i64> {
    let day = folder.strip_prefix(SESSIONS)?.strip_prefix('/')?;
    let date = Date::strptime("%Y/%m/%d", day).ok()?;
    let noon = date.at(12, 0, 0, 0).to_zoned(TimeZone::UTC).ok()?;
    Some(noon.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_folders_hold_older_threads() {
        assert_eq!(floor_of("sessions/2026/03/01"), Some(1_772_366_400));
        assert_eq!(floor_of(ARCHIVED_FOLDER), None);
    }
}
