//! Serves lists and look-ups.
//!
//! Every thread is compared with its file before it is returned, so recent changes by other processes are
//! visible.

use std::time::{Duration, Instant};

use codex_protocol::ThreadId;
use codex_rollout::{find, find_archived};

use crate::database::NamedRow;
use crate::folder::refresh;
use crate::index::{IndexWorker, location_of};
use crate::pass::IndexPass;
use crate::query::{ListCursor, SortKey, ThreadPage, ThreadQuery};
use crate::record::ThreadRecord;

/// How long a list may work on the first pass.
pub(crate) const HELP: Duration = Duration::from_millis(60);
/// How long a list may work on the first pass if it has no result yet.
const FIRST_HELP: Duration = Duration::from_secs(1);
/// Greater than the creation time of any thread, in seconds.
const LATEST_SECOND: i64 = 253_402_200_000;
/// How often a page is read again because its files have changed.
const ATTEMPTS: usize = 4;

impl IndexWorker {
    pub(crate) fn list(&mut self, query: &ThreadQuery) -> rusqlite::Result<ThreadPage> {
        self.catch_up()?;
        self.look_at_changed_folders()?;
        let began = Instant::now();
        loop {
            let floor = self.floor(query);
            let mut rows = self.current_page(query, floor)?;
            if rows.len() > query.limit {
                rows.truncate(query.limit);
                let next = rows.last().map(|row| cursor_of(query, row));
                return Ok(self.page(query, rows, next));
            }
            if self.is_complete {
                return Ok(self.page(query, rows, None));
            }
            let help = if rows.is_empty() { FIRST_HELP } else { HELP };
            if began.elapsed() >= help {
                let next = self.cursor_reached(query, floor, rows.last());
                return Ok(self.page(query, rows, Some(next)));
            }
            // A failed pass is restarted, because the index needs one to become complete.
            self.pass.get_or_insert_with(IndexPass::new);
            let slice = Instant::now() + HELP / 8;
            self.advance(slice.min(began + help))?;
        }
    }

    /// The cursor for the rest of a list that the first pass has not reached yet.
    pub(crate) fn cursor_reached(
        &self,
        query: &ThreadQuery,
        floor: Option<i64>,
        last: Option<&NamedRow>,
    ) -> ListCursor {
        let after = query.after.clone();
        if query.is_ascending {
            let last = last.map(|row| cursor_of(query, row));
            return last.or(after).unwrap_or_else(|| ListCursor::behind(0));
        }
        let reached = floor.filter(|floor| *floor != i64::MAX);
        let time = reached.or(after.map(|after| after.time));
        ListCursor::behind(time.unwrap_or(LATEST_SECOND))
    }

    fn page(
        &self,
        query: &ThreadQuery,
        rows: Vec<NamedRow>,
        next: Option<ListCursor>,
    ) -> ThreadPage {
        let back = rows
            .first()
            .map(|row| cursor_of(query, row).ahead_of_thread());
        let record = |(row, name): NamedRow| row.into_record(&self.home, name);
        ThreadPage {
            threads: rows.into_iter().map(record).collect(),
            next,
            back,
        }
    }

    /// The creation time before which threads may be missing while the first pass runs. Lists by update time and
    /// ascending lists have no such limit.
    pub(crate) fn floor(&self, query: &ThreadQuery) -> Option<i64> {
        let has_gaps = query.sort == SortKey::Updated || query.is_ascending;
        if self.is_complete || has_gaps || query.archived {
            return None;
        }
        self.pass.as_ref().map(IndexPass::floor)
    }

    /// One thread more than requested, all compared with their files.
    fn current_page(
        &mut self,
        query: &ThreadQuery,
        floor: Option<i64>,
    ) -> rusqlite::Result<Vec<NamedRow>> {
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
            // Another process may have created or moved the file.
            let found = find(&home, id).or_else(|| find_archived(&home, id));
            if let Some((folder, file, id)) = found.and_then(|path| location_of(&home, &path)) {
                refresh(&home, self.database()?, &folder, &file, &id, None)?;
            }
        }
        let found = self.database()?.get(id)?;
        let usable = found.filter(|(row, _)| row.problem.is_none());
        Ok(usable.map(|(row, name)| row.into_record(&home, name)))
    }
}

/// The position of a thread in a list.
pub(crate) fn cursor_of(query: &ThreadQuery, (row, _): &NamedRow) -> ListCursor {
    ListCursor {
        time: match query.sort {
            SortKey::Created => row.facts.created_at,
            SortKey::Updated => row.stamp.updated_at(),
        },
        id: row.id.clone(),
    }
}
