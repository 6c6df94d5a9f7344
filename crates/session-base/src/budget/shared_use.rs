//! The use of a thread and of the tree of agents that it is part of.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_protocol::{ThreadId, UsageLimits};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::stored_use::{StoredUse, read_stored_use};
use super::turn_meter::TurnMeter;
use super::used::Used;
use crate::ports::Model;

/// The file of a thread, as long as it was when the thread was loaded.
#[derive(Clone, Debug)]
pub struct StoredThreadUse {
    pub home: PathBuf,
    pub path: PathBuf,
    pub length: u64,
}

/// What a thread has used. Its agents reach it through that of their own thread.
#[derive(Debug)]
pub struct ThreadBudget {
    thread: ThreadId,
    /// Of the thread that this one is an agent of.
    parent: Option<Arc<Self>>,
    tree: Arc<TreeUse>,
    stored: Option<StoredThreadUse>,
    before: OnceCell<StoredUse>,
    since: Mutex<Used>,
    /// The last turn. What agents use counts for it until the next one.
    turn: Mutex<Option<Arc<TurnMeter>>>,
}

/// What a tree of agents has used since its root was loaded.
#[derive(Debug, Default)]
struct TreeUse {
    counts: Mutex<TreeCounts>,
}

#[derive(Debug, Default)]
struct TreeCounts {
    limits: UsageLimits,
    used: Used,
    running: u32,
    /// When the first of the running turns began.
    running_since: Duration,
    /// How long the files of agents were when they were loaded.
    agents: BTreeMap<ThreadId, u64>,
}

impl ThreadBudget {
    /// `parent` is the budget of the thread that this one is an agent of.
    pub fn new(
        thread: ThreadId,
        parent: Option<Arc<Self>>,
        stored: Option<StoredThreadUse>,
    ) -> Self {
        let tree = match &parent {
            Some(parent) => {
                let length = stored.as_ref().map_or(0, |stored| stored.length);
                let mut counts = parent.tree.counts.lock();
                counts.agents.entry(thread.clone()).or_insert(length);
                drop(counts);
                Arc::clone(&parent.tree)
            }
            None => Arc::default(),
        };
        Self {
            thread,
            parent,
            tree,
            stored,
            before: OnceCell::new(),
            since: Mutex::default(),
            turn: Mutex::default(),
        }
    }

    fn ancestors(&self) -> impl Iterator<Item = &Arc<Self>> {
        std::iter::successors(self.parent.as_ref(), |budget| budget.parent.as_ref())
    }

    fn root(&self) -> &Self {
        self.ancestors().last().map_or(self, |root| root)
    }

    /// Reads what the thread and its tree used before they were loaded, if limits need it and it is not known.
    pub(super) async fn read_stored(&self, limits: &UsageLimits, model: &Arc<dyn Model>) {
        if !limits.is_empty() {
            self.stored(model).await;
        }
        let root = self.root();
        if !self.tree.counts.lock().limits.is_empty() {
            root.stored(model).await;
        }
    }

    /// What the thread and its tree used before they were loaded.
    pub(super) async fn stored(&self, model: &Arc<dyn Model>) -> &StoredUse {
        let read = || async {
            let Some(stored) = self.stored.clone() else {
                return StoredUse::default();
            };
            let loaded = self.tree.counts.lock().agents.clone();
            let model = Arc::clone(model);
            let read = move || read_stored_use(&stored, &loaded, &*model);
            tokio::task::spawn_blocking(read).await.unwrap_or_default()
        };
        self.before.get_or_init(read).await
    }

    /// The use of the thread by its own turns, without the one that runs.
    pub(super) fn used(&self) -> Used {
        let mut used = *self.since.lock();
        if let Some(before) = self.before.get() {
            used.add(&before.thread);
        }
        used
    }

    /// The use of the tree and its limits.
    pub(super) fn tree_used(&self, now: Duration) -> (Used, UsageLimits) {
        let counts = self.tree.counts.lock();
        let (mut used, limits) = (counts.used, counts.limits);
        if counts.running > 0 {
            used.time += now.saturating_sub(counts.running_since);
        }
        drop(counts);
        if let Some(before) = self.root().before.get() {
            used.add(&before.tree);
        }
        (used, limits)
    }

    /// The turns that this thread works for as an agent.
    pub(super) fn turns_above(&self) -> Vec<Arc<TurnMeter>> {
        let turns = self.ancestors().map(|above| above.turn.lock().clone());
        turns.flatten().collect()
    }

    /// Adds use to the thread, the tree, and the turns that the thread works for.
    pub(super) fn add(&self, used: &Used) {
        self.since.lock().add(used);
        self.tree.counts.lock().used.add(used);
        for turn in self.turns_above() {
            turn.add(used, Some(&self.thread));
        }
    }

    /// Sets the limits of the tree, if this is the root.
    pub(super) fn set_tree_limits(&self, limits: UsageLimits) {
        if self.parent.is_none() {
            self.tree.counts.lock().limits = limits;
        }
    }

    pub(super) fn turn_began(&self, turn: &Arc<TurnMeter>) {
        *self.turn.lock() = Some(Arc::clone(turn));
        let mut counts = self.tree.counts.lock();
        if counts.running == 0 {
            counts.running_since = turn.begun;
        }
        counts.running += 1;
    }

    pub(super) fn turn_ended(&self, turn: &TurnMeter, now: Duration) {
        self.since.lock().time += now.saturating_sub(turn.begun);
        let mut counts = self.tree.counts.lock();
        counts.running = counts.running.saturating_sub(1);
        if counts.running == 0 {
            let ran = now.saturating_sub(counts.running_since);
            counts.used.time += ran;
        }
    }
}
