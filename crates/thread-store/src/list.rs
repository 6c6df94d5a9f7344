//! Answering a list and a look-up.
//!
//! Every thread that is handed out was compared with its file just then, so that what another process
//! wrote to it a moment ago shows.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use codex_protocol::ThreadId;
use codex_rollout::{SESSIONS, find, find_archived};

use crate::database::Named;
use crate::folder::{FolderWork, refresh};
use crate::index::{Index, place_of};
use crate::pass::Pass;
use crate::query::{Cursor, Page, Query, SortKey};
use crate::record::ThreadRecord;

/// While the first pass runs, a list helps it along for so long at most.
const HELP: Duration = Duration::from_millis(60);
/// So long, if nothing was found yet.
const FIRST_HELP: Duration = Duration::from_secs(1);
/// No thread is newer. In seconds.
const LATEST: i64 = 253_402_200_000;
/// A folder that changed so lately may change again without its time telling.
const UNSURE: Duration = Duration::from_millis(50);
/// How often a page is read again because its files changed.
const ATTEMPTS: usize = 4;

impl Index {
    pub(crate) fn list(&mut self, query: &Query) -> rusqlite::Result<Page> {
        self.catch_up()?;
        self.look_at_newest()?;
        let began = Instant::now();
        loop {
            let floor = self.floor(query);
            let mut rows = self.current_page(query, floor)?;
            if rows.len() > query.limit {
                rows.truncate(query.limit);
                let next = rows.last().map(|row| place(query, row));
                return Ok(self.page(query, rows, next));
            }
            if self.is_complete {
                return Ok(self.page(query, rows, None));
            }
            let help = match rows.is_empty() {
                true => FIRST_HELP,
                false => HELP,
            };
            if began.elapsed() >= help {
                let next = self.place_reached(query, floor, rows.last());
                return Ok(self.page(query, rows, Some(next)));
            }
            // One that failed is begun again: without it nothing is complete.
            self.pass.get_or_insert_with(Pass::new);
            let slice = Instant::now() + HELP / 8;
            self.advance(slice.min(began + help))?;
        }
    }

    /// Where a list goes on that the first pass has not come far enough for.
    fn place_reached(&self, query: &Query, floor: Option<i64>, last: Option<&Named>) -> Cursor {
        let after = query.after.clone();
        if query.is_ascending {
            let last = last.map(|row| place(query, row));
            return last.or(after).unwrap_or_else(|| Cursor::behind(0));
        }
        let reached = floor.filter(|floor| *floor != i64::MAX);
        let time = reached.or(after.map(|after| after.time));
        Cursor::behind(time.unwrap_or(LATEST))
    }

    fn page(&self, query: &Query, rows: Vec<Named>, next: Option<Cursor>) -> Page {
        let first = rows.first().map(|row| place(query, row).time);
        let back = first.map(match query.is_ascending {
            true => Cursor::ahead,
            false => Cursor::behind,
        });
        let record = |(row, name): Named| row.into_record(&self.home, name);
        Page {
            threads: rows.into_iter().map(record).collect(),
            next,
            back,
        }
    }

    /// While the first pass runs: what is older than it has come may have gaps. Lists by the time of
    /// the last change have them anyhow, and so have those that begin with the oldest.
    fn floor(&self, query: &Query) -> Option<i64> {
        let has_gaps = query.sort == SortKey::Updated || query.is_ascending;
        if self.is_complete || has_gaps || query.archived {
            return None;
        }
        self.pass.as_ref().map(Pass::floor)
    }

    /// One thread more than asked for, all of them as their files are now.
    fn current_page(&mut self, query: &Query, floor: Option<i64>) -> rusqlite::Result<Vec<Named>> {
        let limit = query.limit + 1;
        for _ in 0..ATTEMPTS {
            let rows = self.database()?.page(query, limit, floor)?;
            let mut has_changed = false;
            for (row, _) in &rows {
                let home = self.home.clone();
                let known = Some(row.stamp);
                has_changed |= refresh(
                    &home,
                    self.database()?,
                    &row.folder,
                    &row.file,
                    &row.id,
                    known,
                )?;
            }
            if !has_changed {
                return Ok(rows);
            }
        }
        self.database()?.page(query, limit, floor)
    }

    /// Brings the newest day up to date, where another process may have started a thread.
    fn look_at_newest(&mut self) -> rusqlite::Result<()> {
        let Some((folder, changed)) = newest_day(&self.home) else {
            return Ok(());
        };
        if self.newest.as_ref() == Some(&(folder.clone(), changed)) {
            return Ok(());
        }
        let home = self.home.clone();
        let name = folder.to_string_lossy();
        let mut work = FolderWork::start(&home, self.database()?, &name)?;
        let is_done = work.work(&home, self.database()?, Instant::now() + HELP)?;
        let age = changed.elapsed().unwrap_or_default();
        self.newest = (is_done && age > UNSURE).then_some((folder, changed));
        Ok(())
    }

    pub(crate) fn get(&mut self, id: &ThreadId) -> rusqlite::Result<Option<ThreadRecord>> {
        self.catch_up()?;
        let home = self.home.clone();
        if let Some((row, _)) = self.database()?.get(id)? {
            refresh(
                &home,
                self.database()?,
                &row.folder,
                &row.file,
                id,
                Some(row.stamp),
            )?;
        }
        if self.database()?.get(id)?.is_none() {
            // Another process may have made it or moved it.
            let found = find(&home, id).or_else(|| find_archived(&home, id));
            if let Some((folder, file, id)) = found.and_then(|path| place_of(&home, &path)) {
                refresh(&home, self.database()?, &folder, &file, &id, None)?;
            }
        }
        let found = self.database()?.get(id)?;
        let usable = found.filter(|(row, _)| row.problem.is_none());
        Ok(usable.map(|(row, name)| row.into_record(&home, name)))
    }
}

/// The place of a thread in a list.
fn place(query: &Query, (row, _): &Named) -> Cursor {
    Cursor {
        time: match query.sort {
            SortKey::Created => row.facts.created_at,
            SortKey::Updated => row.stamp.updated_at(),
        },
        id: row.id.clone(),
    }
}

/// The folder of the newest day, relative to the home folder, and when files came to it or went.
fn newest_day(home: &std::path::Path) -> Option<(PathBuf, SystemTime)> {
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
