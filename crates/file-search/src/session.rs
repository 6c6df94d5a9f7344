//! Several queries over folders that are walked once.
//!
//! A worker thread owns the paths and the current query. It receives queries and paths as messages and reports matches.
//! It checks for a new query between two batches of paths. The walk has its own threads and ends with the session.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::corpus::{Paths, Scorers};
use crate::query::Query;
use crate::ranking::{Match, Ranking};
use crate::walk::{Roots, walk};

/// Minimum time between two reports.
const BETWEEN_UPDATES: Duration = Duration::from_millis(10);

/// How many paths a walking thread collects before it sends them.
const PORTION: usize = 2048;

/// How many paths are matched before messages are checked.
const AT_ONE_GO: usize = 32 * 1024;

/// Limit on the number of paths, which take some hundred megabytes.
const PATHS_LIMIT: usize = 2_000_000;

/// A report of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// All matches known for the current query. Replaces earlier reports.
    Found {
        query: String,
        /// The matches, best first.
        matches: Vec<Match>,
    },
    /// No more matches will be found for the current query.
    Complete,
}

/// A search session. It starts with the empty query, which matches nothing, and ends when it is dropped.
#[derive(Debug)]
pub struct Session {
    messages: Sender<Message>,
    is_over: Arc<AtomicBool>,
}

#[derive(Debug)]
enum Message {
    Query(String),
    Paths(Paths),
    WalkEnded,
    Stop,
}

impl Session {
    /// Starts the walk. `report` is called on the session's worker thread.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(
        roots: Roots,
        limit: usize,
        tell: impl FnMut(Event) + Send + 'static,
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
            let worker = Worker::new(roots, limit, tell);
            move || worker.work(&inbox, &is_over)
        })?;
        Ok(session)
    }

    /// Replaces the query.
    pub fn query(&self, query: String) {
        // Sending fails only after the worker has ended.
        self.messages.send(Message::Query(query)).ok();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.messages.send(Message::Stop).ok();
    }
}

fn walk_into(roots: &Roots, is_over: &AtomicBool, messages: &Sender<Message>) {
    let hand_over = |paths: &mut Paths| {
        messages.send(Message::Paths(std::mem::take(paths))).ok();
    };
    walk(
        roots,
        Paths::default,
        |paths, found| {
            paths.push(found);
            if paths.len() >= PORTION {
                hand_over(paths);
            }
            !is_over.load(Ordering::Relaxed)
        },
        |mut paths| hand_over(&mut paths),
    );
    messages.send(Message::WalkEnded).ok();
}

struct Worker<F> {
    roots: Arc<Roots>,
    limit: usize,
    tell: F,
    paths: Paths,
    walk_ended: bool,
    scorers: Scorers,
    asked: Asked,
}

/// The current query and its state.
struct Asked {
    text: String,
    query: Query,
    /// How many paths were matched.
    done: usize,
    ranking: Ranking,
    /// Whether the matches have changed since the last report.
    is_news: bool,
    was_told: bool,
    is_complete: bool,
    /// The time before which nothing is reported.
    not_before: Instant,
}

impl Asked {
    fn new(text: String, limit: usize, not_before: Instant) -> Self {
        Self {
            query: Query::new(&text),
            text,
            done: 0,
            ranking: Ranking::new(limit),
            is_news: false,
            was_told: false,
            is_complete: false,
            not_before,
        }
    }
}

impl<F: FnMut(Event)> Worker<F> {
    fn new(roots: Arc<Roots>, limit: usize, tell: F) -> Self {
        // Most clients send the first query right after starting a session, so the first report waits for it.
        let not_before = Instant::now() + BETWEEN_UPDATES;
        Self {
            roots,
            limit,
            tell,
            paths: Paths::default(),
            walk_ended: false,
            scorers: Scorers::new(),
            asked: Asked::new(String::new(), limit, not_before),
        }
    }

    fn work(mut self, inbox: &Receiver<Message>, is_over: &AtomicBool) {
        while self.take_messages(inbox) && !is_over.load(Ordering::Relaxed) {
            self.match_some();
            self.tell_news();
        }
    }

    /// Handles pending messages; waits for one if there is no work. Returns false at the end of the session.
    fn take_messages(&mut self, inbox: &Receiver<Message>) -> bool {
        if self.is_idle() {
            let first = if self.has_news() {
                let due = self.asked.not_before;
                inbox.recv_timeout(due.saturating_duration_since(Instant::now()))
            } else {
                inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            let goes_on = match first {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => true,
                Err(RecvTimeoutError::Disconnected) => false,
            };
            if !goes_on {
                return false;
            }
        }
        inbox.try_iter().all(|message| self.take(message))
    }

    /// Whether all known paths were matched.
    fn is_idle(&self) -> bool {
        self.asked.done == self.paths.len()
    }

    /// Whether no more matches can be found.
    fn is_settled(&self) -> bool {
        self.walk_ended && self.is_idle()
    }

    /// Whether there is something to report: new matches, or once that there are none.
    fn has_news(&self) -> bool {
        let asked = &self.asked;
        let finds_nothing = self.is_settled() || asked.query.is_empty();
        asked.is_news || !asked.was_told && finds_nothing
    }

    fn take(&mut self, message: Message) -> bool {
        match message {
            Message::Query(text) => self.asked = Asked::new(text, self.limit, Instant::now()),
            Message::Paths(paths) => {
                if self.paths.len() < PATHS_LIMIT {
                    self.paths.append(&paths);
                }
            }
            Message::WalkEnded => self.walk_ended = true,
            Message::Stop => return false,
        }
        true
    }

    fn match_some(&mut self) {
        let asked = &mut self.asked;
        if asked.query.is_empty() {
            asked.done = self.paths.len();
            return;
        }
        let end = self.paths.len().min(asked.done + AT_ONE_GO);
        let candidates = self.paths.candidates(&asked.query, asked.done..end);
        asked.done = end;
        let ranking = &mut asked.ranking;
        asked.is_news |= self
            .paths
            .rank(&asked.query, &candidates, &mut self.scorers, ranking);
    }

    fn tell_news(&mut self) {
        if self.has_news() && Instant::now() >= self.asked.not_before {
            let asked = &mut self.asked;
            asked.is_news = false;
            asked.was_told = true;
            asked.not_before = Instant::now() + BETWEEN_UPDATES;
            let ranking = asked.ranking.clone();
            let scorer = self.scorers.first();
            let matches = ranking.into_matches(&asked.query, scorer, &self.roots.folders);
            let query = asked.text.clone();
            (self.tell)(Event::Found { query, matches });
        }
        if self.is_settled() && self.asked.was_told && !self.asked.is_news {
            if !self.asked.is_complete {
                (self.tell)(Event::Complete);
            }
            self.asked.is_complete = true;
        }
    }
}
