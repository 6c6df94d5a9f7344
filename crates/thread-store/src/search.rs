//! Searches the messages of all threads.
//!
//! Nothing is prepared before the first search. It attaches the tables of [`search_tables`](crate::search_tables) and
//! reads the threads in the order of its result, as many as fit in its time; the rest is read in the background. A page
//! that ends early has a cursor. Every match is found in the rollout itself, so a table that lags behind a file hides
//! nothing: such files are read again first.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use codex_protocol::ThreadId;
use codex_rollout::{RolloutChain, scan_segment};
use rusqlite::ErrorCode;

use crate::database::{Database, NamedRow};
use crate::folder::refresh;
use crate::index::{IndexWorker, set_aside};
use crate::list::cursor_of;
use crate::messages::{message_of, takes_turns_back};
use crate::pass::IndexPass;
use crate::query::{FoundThread, ListCursor, SearchPage, ThreadQuery};
use crate::record::ThreadRow;
use crate::search_tables::{PartsWithTerm, SEARCH_FILE, SearchTables, TextPart};
use crate::search_term::SearchTerm;
use crate::search_watcher::SearchRequest;

/// How long one search may work.
const BUDGET: Duration = Duration::from_secs(1);
/// How many bytes of a rollout one part describes.
const PART: u64 = 256 * 1024;
/// With more parts than this, a term does not select threads.
const MOST_PARTS: usize = 4000;
/// How many threads are fetched from the index at once.
const CHUNK: usize = 64;

impl IndexWorker {
    pub(crate) fn search(&mut self, request: &SearchRequest) -> rusqlite::Result<SearchPage> {
        match self.try_search(request) {
            Err(error) if is_damaged(&error) => {
                tracing::warn!(%error, "the tables for searches are damaged: they are made anew");
                self.close_database();
                set_aside(&self.search_file());
                self.try_search(request)
            }
            page => page,
        }
    }

    fn try_search(&mut self, request: &SearchRequest) -> rusqlite::Result<SearchPage> {
        let SearchRequest {
            query,
            term,
            watcher,
        } = request;
        self.catch_up()?;
        self.look_at_changed_folders()?;
        let began = Instant::now();
        while !self.is_complete && !watcher.is_gone() && began.elapsed() < BUDGET / 2 {
            self.pass.get_or_insert_with(IndexPass::new);
            self.advance(began + BUDGET / 2)?;
        }
        let file = self.search_file();
        self.database()?.attach_search(&file)?;
        let grams = term.grams();
        let parts = match &grams {
            Some(grams) => Some(
                self.database()?
                    .search_tables()
                    .parts_with(grams, MOST_PARTS)?,
            ),
            None => None,
        };
        let candidates = self.candidates(parts.as_ref())?;
        let wanted = grams.as_deref().zip(parts.as_ref());
        let floor = self.floor(query);
        let (mut found, mut after) = (Vec::new(), query.after.clone());
        loop {
            let rest = ThreadQuery {
                after: after.clone(),
                search: None,
                ..query.clone()
            };
            let database = self.database()?;
            let rows = match &candidates {
                None => database.page(&rest, CHUNK, floor)?,
                Some(ids) => database.page_of(&rest, CHUNK, floor, ids)?,
            };
            let is_last = rows.len() < CHUNK;
            for row in rows {
                let position = cursor_of(query, &row);
                if watcher.is_gone() {
                    return Ok(search_page(query, found, None));
                }
                if let Some(one) = self.look_through(row, term, wanted)? {
                    if found.len() < query.limit {
                        watcher.see(&one);
                    }
                    found.push((position.clone(), one));
                }
                after = Some(position);
                if found.len() > query.limit {
                    found.truncate(query.limit);
                    let next = found.last().map(|(position, _)| position.clone());
                    return Ok(search_page(query, found, next));
                }
                if began.elapsed() > BUDGET {
                    return Ok(search_page(query, found, after));
                }
            }
            if is_last {
                break;
            }
        }
        let next = (!self.is_complete).then(|| self.cursor_reached(query, floor, None));
        Ok(search_page(query, found, next))
    }

    fn search_file(&self) -> std::path::PathBuf {
        self.file.with_file_name(SEARCH_FILE)
    }

    /// The threads that may contain the term; none if they are not worth a list.
    fn candidates(
        &mut self,
        parts: Option<&PartsWithTerm>,
    ) -> rusqlite::Result<Option<Vec<ThreadId>>> {
        let tables = self.database()?.search_tables();
        let unread = tables.unread(MOST_PARTS)?;
        let parts = parts.filter(|parts| parts.are_all && unread.len() < MOST_PARTS);
        let selected = parts.map(|parts| tables.threads_of(parts)).transpose()?;
        self.has_unread_texts = !unread.is_empty();
        Ok(selected.map(|mut threads| {
            threads.extend(unread);
            threads
        }))
    }

    /// The match in a thread, compared with its file. The pieces of the term come with the parts that have them.
    fn look_through(
        &mut self,
        (mut row, mut name): NamedRow,
        term: &SearchTerm,
        wanted: Option<(&str, &PartsWithTerm)>,
    ) -> rusqlite::Result<Option<FoundThread>> {
        let home = self.home.clone();
        let database = self.database()?;
        let known = Some(row.stamp);
        if refresh(&home, database, &row.folder, &row.file, &row.id, known)? {
            match database.get(&row.id)? {
                Some(current) => (row, name) = current,
                None => return Ok(None),
            }
        }
        let tables = database.search_tables();
        let known = tables.file(&row.id)?;
        let is_reread = known.as_ref().map(|file| file.stamp) != Some(row.stamp);
        if is_reread {
            read_texts(&home, database, &row)?;
        }
        let has_pieces = |part: i64| {
            wanted.is_none_or(|(grams, parts)| {
                // The numbers of parts that were read again may be those of others.
                let known = parts.contains(part).filter(|_| !is_reread);
                known.unwrap_or_else(|| tables.has(part, grams).unwrap_or(true))
            })
        };
        for part in tables.parts(&row.id)? {
            if !has_pieces(part.part) {
                continue;
            }
            let Some(snippet) = snippet_in(&row.path(&home), part, term) else {
                continue;
            };
            let file = tables.file(&row.id)?;
            return Ok(Some(FoundThread {
                thread: row.into_record(&home, name),
                snippet,
                has_rollbacks: file.is_some_and(|file| file.has_rollbacks),
            }));
        }
        Ok(None)
    }

    /// Reads texts that searches have not reached yet.
    pub(crate) fn read_waiting_texts(&mut self, deadline: Instant) -> rusqlite::Result<()> {
        let home = self.home.clone();
        let file = self.search_file();
        let database = self.database()?;
        database.attach_search(&file)?;
        let tables = database.search_tables();
        let waiting = tables.unread(CHUNK)?;
        let is_rest = waiting.len() < CHUNK;
        for id in waiting {
            if let Some((row, _)) = database.get(&id)? {
                read_texts(&home, database, &row)?;
            }
            if Instant::now() > deadline {
                return Ok(());
            }
        }
        if is_rest {
            for id in tables.forgotten()? {
                database.atomically(|| tables.remove_thread(&id))?;
            }
            self.has_unread_texts = false;
        }
        Ok(())
    }
}

/// Puts the texts of a thread into the tables. Parts that are complete stay as they are.
fn read_texts(home: &Path, database: &Database, row: &ThreadRow) -> rusqlite::Result<()> {
    let tables = database.search_tables();
    let chain = match RolloutChain::open(&row.path(home)) {
        Ok(chain) => chain,
        Err(error) => {
            tracing::warn!(%error, thread = %row.id, "a rollout cannot be searched");
            // It is tried again when the file changes.
            return database.atomically(|| {
                tables.remove_thread(&row.id)?;
                tables.put_file(row, false)
            });
        }
    };
    database.atomically(|| {
        let known = tables.file(&row.id)?;
        let grew = known.as_ref().is_some_and(|file| {
            file.file == row.file && file.stamp.size <= row.stamp.size && !chain.has_base()
        });
        let mut has_rollbacks = known.is_some_and(|file| grew && file.has_rollbacks);
        let mut start = 0;
        for part in tables.parts(&row.id)? {
            match part.stop {
                Some(stop) if grew => start = stop,
                _ => tables.remove_part(part.part)?,
            }
        }
        let mut text = PartText::new(start);
        let mut added = Ok(());
        let scanned = scan_segment(&chain, start..u64::MAX, |line| {
            has_rollbacks |= takes_turns_back(&line);
            if line.offset() - text.start >= PART {
                added = text.store(&tables, &row.id, Some(line.offset()));
                text = PartText::new(line.offset());
            }
            if let Some(message) = message_of(&line) {
                text.add(&message);
            }
            if added.is_err() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        if let Err(error) = scanned {
            tracing::warn!(%error, thread = %row.id, "a rollout is searched in part only");
        }
        added?;
        text.store(&tables, &row.id, None)?;
        tables.put_file(row, has_rollbacks)
    })
}

/// The texts of a part.
struct PartText {
    start: u64,
    text: String,
}

impl PartText {
    fn new(start: u64) -> Self {
        Self {
            start,
            text: String::new(),
        }
    }

    fn add(&mut self, message: &str) {
        self.text.push_str(&SearchTerm::form(message));
        self.text.push('\n');
    }

    fn store(
        &self,
        tables: &SearchTables<'_>,
        thread: &ThreadId,
        stop: Option<u64>,
    ) -> rusqlite::Result<()> {
        tables.add_part(thread, self.start, stop, &self.text)
    }
}

/// The text around the first match in a part of a file.
fn snippet_in(path: &Path, part: TextPart, term: &SearchTerm) -> Option<String> {
    let mut snippet = None;
    let chain = RolloutChain::open(path).ok()?;
    let scanned = scan_segment(&chain, part.range(), |line| {
        snippet = message_of(&line).and_then(|message| term.snippet(&message));
        match snippet {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    if let Err(error) = scanned {
        tracing::warn!(%error, path = %path.display(), "a rollout cannot be searched");
    }
    snippet
}

fn search_page(
    query: &ThreadQuery,
    found: Vec<(ListCursor, FoundThread)>,
    next: Option<ListCursor>,
) -> SearchPage {
    let first = found.first().map(|(position, _)| position.time);
    let back = first.map(if query.is_ascending {
        ListCursor::ahead
    } else {
        ListCursor::behind
    });
    SearchPage {
        found: found.into_iter().map(|(_, one)| one).collect(),
        next,
        back,
    }
}

/// Whether the tables for searches cannot be used.
fn is_damaged(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
    )
}
