//! Ids of a replay: those of the recorded threads.

use std::collections::VecDeque;

use codex_core::{Ids, RandomIds};
use codex_protocol::ThreadId;
use parking_lot::Mutex;

/// Threads get the recorded ids in the order in which they were started.
#[derive(Debug)]
pub(crate) struct ReplayIds {
    threads: Mutex<VecDeque<String>>,
}

impl ReplayIds {
    pub(crate) fn new(threads: impl IntoIterator<Item = String>) -> Self {
        Self {
            threads: Mutex::new(threads.into_iter().collect()),
        }
    }
}

impl Ids for ReplayIds {
    fn thread(&self) -> ThreadId {
        let recorded = self.threads.lock().pop_front();
        let recorded = recorded.and_then(|id| ThreadId::parse(&id).ok());
        recorded.unwrap_or_else(|| RandomIds.thread())
    }

    fn submission(&self) -> String {
        RandomIds.submission()
    }

    fn item(&self) -> String {
        RandomIds.item()
    }
}
