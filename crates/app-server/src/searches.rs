//! The file searches of one client: sessions by their ids, and single searches by tokens. A later search with the
//! same token cancels an earlier one.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use codex_file_search::SearchSession;
use parking_lot::Mutex;

use crate::background_notifier::BackgroundNotifier;

/// The searches of one connection.
#[derive(Debug, Default)]
pub(crate) struct Searches(Mutex<SearchTable>);

/// Limit on the sessions of a client, since each holds the paths of its folders. Beyond it the one that was used least
/// recently ends.
const SESSIONS_LIMIT: usize = 4;

#[derive(Debug, Default)]
struct SearchTable {
    /// The session that was used last is at the end.
    sessions: VecDeque<(String, NamedSession)>,
    tokens: HashMap<String, Arc<AtomicBool>>,
}

/// A search session and its notifier. Dropping it ends both.
#[derive(Debug)]
pub(crate) struct NamedSession {
    pub(crate) session: SearchSession,
    pub(crate) notifier: Arc<BackgroundNotifier>,
}

impl Drop for NamedSession {
    fn drop(&mut self) {
        self.notifier.close();
    }
}

impl SearchTable {
    fn take_session(&mut self, id: &str) -> Option<(String, NamedSession)> {
        let position = self.sessions.iter().position(|(own, _)| own == id)?;
        self.sessions.remove(position)
    }
}

impl Searches {
    /// Adds a session. Replaces one with the same id.
    pub(crate) fn add(&self, id: String, session: NamedSession) {
        let mut table = self.0.lock();
        let mut ended = table.take_session(&id);
        if table.sessions.len() == SESSIONS_LIMIT {
            ended = table.sessions.pop_front();
        }
        table.sessions.push_back((id, session));
        drop(table);
        drop(ended);
    }

    pub(crate) fn remove(&self, id: &str) {
        let removed = self.0.lock().take_session(id);
        drop(removed);
    }

    /// Returns false if there is no such session.
    pub(crate) fn query(&self, id: &str, query: String) -> bool {
        let mut table = self.0.lock();
        let Some(used) = table.take_session(id) else {
            return false;
        };
        used.1.session.query(query);
        table.sessions.push_back(used);
        true
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.lock().sessions.iter().any(|(own, _)| own == id)
    }

    /// Starts a single search and cancels the one with the same token. The returned flag becomes true when this one
    /// is cancelled.
    pub(crate) fn begin(&self, token: Option<&str>) -> Arc<AtomicBool> {
        let cancelled = Arc::new(AtomicBool::new(false));
        if let Some(token) = token {
            let mut table = self.0.lock();
            let before = table
                .tokens
                .insert(token.to_owned(), Arc::clone(&cancelled));
            if let Some(before) = before {
                before.store(true, Ordering::Relaxed);
            }
        }
        cancelled
    }

    /// Removes a single search that has ended.
    pub(crate) fn end(&self, token: Option<&str>, cancelled: &Arc<AtomicBool>) {
        let Some(token) = token else {
            return;
        };
        let mut table = self.0.lock();
        let current = table.tokens.get(token);
        if current.is_some_and(|current| Arc::ptr_eq(current, cancelled)) {
            table.tokens.remove(token);
        }
    }

    /// Ends all searches.
    pub(crate) fn clear(&self) {
        let table = std::mem::take(&mut *self.0.lock());
        for cancelled in table.tokens.values() {
            cancelled.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_search_replaces_one_with_same_token() {
        let searches = Searches::default();
        let first = searches.begin(Some("a"));
        let other = searches.begin(Some("b"));
        let nobodys = searches.begin(None);
        let second = searches.begin(Some("a"));
        let is_cancelled = |cancelled: &Arc<AtomicBool>| cancelled.load(Ordering::Relaxed);
        assert!(is_cancelled(&first));
        assert!(!is_cancelled(&other) && !is_cancelled(&nobodys) && !is_cancelled(&second));
        // The first one ends only now; the second is still registered.
        searches.end(Some("a"), &first);
        searches.begin(Some("a"));
        assert!(is_cancelled(&second));
        searches.clear();
        assert!(is_cancelled(&other));
    }
}
