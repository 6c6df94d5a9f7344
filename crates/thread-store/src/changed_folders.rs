//! Looks at the folders whose files may have changed since they were last read: the newest day, where other processes
//! start threads, and the archive, which every moved thread enters or leaves.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use codex_rollout::{ARCHIVED_FOLDER, SESSIONS, folder_name};

use crate::annotations::FileProgress;
use crate::folder::FolderWork;
use crate::index::IndexWorker;
use crate::list::HELP;

/// A folder with a more recent modification time is read again, because the resolution of that time is limited.
const CLOCK_MARGIN: Duration = Duration::from_millis(50);
/// The name of the progress row with the modification time of the archive when its names were last compared.
const ARCHIVE_READ: &str = "archive";

impl IndexWorker {
    /// Updates the rows of the folders that have changed.
    pub(crate) fn look_at_changed_folders(&mut self) -> rusqlite::Result<()> {
        self.look_at_newest()?;
        self.look_at_archive()
    }

    /// Updates the newest day folder, where another process may have started a thread.
    fn look_at_newest(&mut self) -> rusqlite::Result<()> {
        let Some((folder, changed)) = newest_day(&self.home) else {
            return Ok(());
        };
        if self.newest.as_ref() == Some(&(folder.clone(), changed)) {
            return Ok(());
        }
        let home = self.home.clone();
        let name = folder_name(&folder);
        let mut work = FolderWork::start(&home, self.database()?, &name)?;
        let is_done = work.work(&home, self.database()?, Instant::now() + HELP)?;
        let age = changed.elapsed().unwrap_or_default();
        self.newest = (is_done && age > CLOCK_MARGIN).then_some((folder, changed));
        Ok(())
    }

    /// Updates the threads that entered or left the archive while no process told this index, such as one that was killed
    /// in between.
    fn look_at_archive(&mut self) -> rusqlite::Result<()> {
        let home = self.home.clone();
        let changed = home
            .join(ARCHIVED_FOLDER)
            .metadata()
            .and_then(|it| it.modified());
        // Without a folder no thread is in it. The first pass reads the whole folder.
        let Ok(changed) = changed else { return Ok(()) };
        if !self.is_complete {
            return Ok(());
        }
        let database = self.database()?;
        let read = FileProgress {
            inode: 0,
            offset: microseconds(changed),
        };
        if database.progress(ARCHIVE_READ)? == read {
            return Ok(());
        }
        let mut work = FolderWork::start(&home, database, ARCHIVED_FOLDER)?.only_changed_names();
        let is_done = work.work(&home, database, Instant::now() + HELP)?;
        if is_done && changed.elapsed().unwrap_or_default() > CLOCK_MARGIN {
            database.set_progress(ARCHIVE_READ, read)?;
        }
        Ok(())
    }
}

fn microseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The newest day folder, relative to the home folder, and its modification time.
fn newest_day(home: &Path) -> Option<(PathBuf, SystemTime)> {
    let mut folder = PathBuf::from(SESSIONS);
    for _ in 0..3 {
        let entries = fs::read_dir(home.join(&folder)).ok()?;
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let numbers = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        folder.push(numbers.max()?);
    }
    let changed = home.join(&folder).metadata().ok()?.modified().ok()?;
    Some((folder, changed))
}
