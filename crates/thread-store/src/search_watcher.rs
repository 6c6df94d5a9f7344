//! A search, and who watches it.

use tokio::sync::mpsc;

use crate::query::{FoundThread, ThreadQuery};
use crate::search_term::SearchTerm;

/// What is searched for, and for whom.
pub(crate) struct SearchRequest {
    pub(crate) query: ThreadQuery,
    pub(crate) term: SearchTerm,
    pub(crate) watcher: SearchWatcher,
}

/// Gets each thread as it is found. A search whose watcher is gone ends early.
#[derive(Clone, Debug, Default)]
pub struct SearchWatcher(Option<mpsc::UnboundedSender<FoundThread>>);

impl SearchWatcher {
    /// A watcher, and what it gets.
    #[must_use]
    pub fn new() -> (Self, mpsc::UnboundedReceiver<FoundThread>) {
        let (sender, found) = mpsc::unbounded_channel();
        (Self(Some(sender)), found)
    }

    pub(crate) fn see(&self, found: &FoundThread) {
        if let Some(sender) = &self.0 {
            // It may have gone just now.
            let _ = sender.send(found.clone());
        }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(mpsc::UnboundedSender::is_closed)
    }
}
