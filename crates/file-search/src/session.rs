//! Several queries over folders that are walked once.
//!
//! A worker thread owns the paths and the current query. It receives queries and paths as messages and reports matches.
//! It checks for a new query between two batches of paths. The walk has its own threads and ends with the session.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::corpus::{PathCorpus, ScorerPool};
use crate::query::SearchQuery;
use crate::ranking::{Ranking, SearchMatch};
use crate::walk::{SearchRoots, walk};

/// Minimum time between two reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(10);

/// When a session without a query reports that it found nothing. Nobody waits for that.
const EMPTY_REPORT_DELAY: Duration = Duration::from_millis(50);

/// How many paths a walking thread collects before it sends them.
const BATCH: usize = 2048;

/// How many paths are matched before messages are checked.
const PATHS_PER_STEP: usize = 32 * 1024;

/// Limit on the number of paths, which take some hundred megabytes.
const PATHS_LIMIT: usize = 2_000_000;

/// A report of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchEvent {
    /// All matches known for the current query. Replaces earlier reports.
    Found {
        query: String,
        /// The matches, best first.
        matches: Vec<SearchMatch>,
    },
    /// No more matches will be found for this query, the current one.
    Complete { query: String },
}

/// A search session. It starts with the empty query, which matches nothing, and ends when it is dropped.
#[derive(Debug)]
pub struct SearchSession {
    messages: Sender<SessionMessage>,
    is_over: Arc<AtomicBool>,
}

#[derive(Debug)]
enum SessionMessage {
    Query(String),
    Paths(PathCorpus),
    WalkEnded,
    Stop,
}

impl SearchSession {
    /// Starts the walk. `report` is called on the session's worker thread.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(
        roots: SearchRoots,
        limit: usize,
        report: impl FnMut(SearchEvent) + Send + 'static,
    ) -> io::Result<Self> {
        let (messages, inbox) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let roots = Arc::new(roots);
        let walked = messages.clone();
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let session = Self {
            messages,
            is_over: Arc::clone(&is_over),
        };
        thread("file-walk").spawn({
            let (roots, is_over) = (Arc::clone(&roots), Arc::clone(&is_over));
            move || walk_into(&roots, &is_over, &walked)
        })?;
        thread("file-search").spawn({
            let worker = SessionWorker::new(roots, limit, report);
            move || worker.work(&inbox, &is_over)
        })?;
        Ok(session)
    }

    /// Replaces the query.
    pub fn query(&self, query: String) {
        // Sending fails only after the worker has ended.
        self.messages.send(SessionMessage::Query(query)).ok();
    }
}

impl Drop for SearchSession {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.messages.send(SessionMessage::Stop).ok();
    }
}

fn walk_into(roots: &SearchRoots, is_over: &AtomicBool, messages: &Sender<SessionMessage>) {
    let hand_over = |paths: &mut PathCorpus| {
        messages
            .send(SessionMessage::Paths(std::mem::take(paths)))
            .ok();
    };
    walk(
        roots,
        PathCorpus::default,
        |paths, found| {
            paths.push(found);
            if paths.len() >= BATCH {
                hand_over(paths);
            }
            !is_over.load(Ordering::Relaxed)
        },
        |mut paths| hand_over(&mut paths),
    );
    messages.send(SessionMessage::WalkEnded).ok();
}

struct SessionWorker<F> {
    roots: Arc<SearchRoots>,
    limit: usize,
    report: F,
    paths: PathCorpus,
    walk_ended: bool,
    scorers: ScorerPool,
    current: CurrentQuery,
}

/// The current query and its state.
struct CurrentQuery {
    text: String,
    query: SearchQuery,
    /// How many paths were matched.
    done: usize,
    ranking: Ranking,
    /// Whether the matches have changed since the last report.
    has_changed: bool,
    was_reported: bool,
    is_complete: bool,
    /// The time before which nothing is reported.
    not_before: Instant,
}

impl CurrentQuery {
    fn new(text: String, limit: usize, not_before: Instant) -> Self {
        Self {
            query: SearchQuery::new(&text),
            text,
            done: 0,
            ranking: Ranking::new(limit),
            has_changed: false,
            was_reported: false,
            is_complete: false,
            not_before,
        }
    }
}

impl<F: FnMut(SearchEvent)> SessionWorker<F> {
    fn new(roots: Arc<SearchRoots>, limit: usize, report: F) -> Self {
        // Most clients send the first query right after starting a session, so the first report waits for it.
        let not_before = Instant::now() + EMPTY_REPORT_DELAY;
        Self {
            roots,
            limit,
            report,
            paths: PathCorpus::default(),
            walk_ended: false,
            scorers: ScorerPool::new(),
            current: CurrentQuery::new(String::new(), limit, not_before),
        }
    }

    fn work(mut self, inbox: &Receiver<SessionMessage>, is_over: &AtomicBool) {
        while self.take_messages(inbox) && !is_over.load(Ordering::Relaxed) {
            self.match_some();
            self.report_changes();
        }
    }

    /// Handles pending messages; waits for one if there is no work. Returns false at the end of the session.
    fn take_messages(&mut self, inbox: &Receiver<SessionMessage>) -> bool {
        if self.is_idle() {
            let first = if self.has_report() {
                let due = self.current.not_before;
                inbox.recv_timeout(due.saturating_duration_since(Instant::now()))
            } else {
                inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            let continues = match first {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => true,
                Err(RecvTimeoutError::Disconnected) => false,
            };
            if !continues {
                return false;
            }
        }
        inbox.try_iter().all(|message| self.take(message))
    }

    /// Whether all known paths were matched.
    fn is_idle(&self) -> bool {
        self.current.done == self.paths.len()
    }

    /// Whether no more matches can be found.
    fn is_settled(&self) -> bool {
        self.walk_ended && self.is_idle()
    }

    /// Whether there is something to report: new matches, or once that there are none.
    fn has_report(&self) -> bool {
        let current = &self.current;
        let finds_nothing = self.is_settled() || current.query.is_empty();
        current.has_changed || !current.was_reported && finds_nothing
    }

    fn take(&mut self, message: SessionMessage) -> bool {
        match message {
            SessionMessage::Query(text) => {
                self.current = CurrentQuery::new(text, self.limit, Instant::now())
            }
            SessionMessage::Paths(paths) => {
                if self.paths.len() < PATHS_LIMIT {
                    self.paths.append(&paths);
                }
            }
            SessionMessage::WalkEnded => self.walk_ended = true,
            SessionMessage::Stop => return false,
        }
        true
    }

    fn match_some(&mut self) {
        let current = &mut self.current;
        if current.query.is_empty() {
            current.done = self.paths.len();
            return;
        }
        let end = self.paths.len().min(current.done + PATHS_PER_STEP);
        let candidates = self.paths.candidates(&current.query, current.done..end);
        current.done = end;
        let ranking = &mut current.ranking;
        current.has_changed |=
            self.paths
                .rank(&current.query, &candidates, &mut self.scorers, ranking);
    }

    fn report_changes(&mut self) {
        if self.has_report() && Instant::now() >= self.current.not_before {
            let current = &mut self.current;
            current.has_changed = false;
            current.was_reported = true;
            current.not_before = Instant::now() + REPORT_INTERVAL;
            let ranking = current.ranking.clone();
            let scorer = self.scorers.first();
            let matches = ranking.into_matches(&current.query, scorer, &self.roots.folders);
            let query = current.text.clone();
            (self.report)(SearchEvent::Found { query, matches });
        }
        if self.is_settled() && self.current.was_reported && !self.current.has_changed {
            if !self.current.is_complete {
                let query = self.current.text.clone();
                (self.report)(SearchEvent::Complete { query });
            }
            self.current.is_complete = true;
        }
    }
}
