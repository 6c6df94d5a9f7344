//! Which threads notes are taken of: those of people, that have been idle for some hours, and that have changed since the last notes.

use std::sync::Arc;

use codex_config::MemorySettings;
use codex_protocol::ThreadId;
use codex_thread_store::{StoreError, ThreadQuery, ThreadRecord, ThreadStore};
use thiserror::Error;

use crate::lease::Lease;
use crate::run::{Stopped, blocking};
use crate::store::{MemoryMode, MemoryStore, MemoryStoreError, now};

const PAGE: usize = 100;
/// The number of pages that are looked at.
const MAX_PAGES: usize = 50;

#[derive(Debug, Error)]
pub(crate) enum IdleThreadsError {
    #[error(transparent)]
    Threads(#[from] StoreError),
    #[error(transparent)]
    Memories(#[from] MemoryStoreError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// A thread that this process takes notes of.
#[derive(Debug)]
pub(crate) struct IdleThread {
    pub(crate) thread: ThreadRecord,
    pub(crate) lease: Lease,
}

/// Takes leases of the newest threads that notes are missing of.
pub(crate) async fn idle_threads(
    store: &Arc<MemoryStore>,
    threads: &ThreadStore,
    settings: &MemorySettings,
    own: &ThreadId,
) -> Result<Vec<IdleThread>, IdleThreadsError> {
    let newest = now() - 3600 * i64::from(settings.min_rollout_idle_hours);
    let oldest = now() - 86_400 * i64::from(settings.max_rollout_age_days);
    let limit = usize::try_from(settings.max_rollouts_per_startup).unwrap_or(usize::MAX);
    let (mut found, mut after) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let page = threads
            .list(ThreadQuery {
                after,
                ..ThreadQuery::newest_of_people(PAGE, own.clone())
            })
            .await?;
        let is_last = page.threads.iter().any(|thread| thread.updated_at < oldest);
        let idle = |thread: &ThreadRecord| (oldest..=newest).contains(&thread.updated_at);
        let idle: Vec<_> = page.threads.into_iter().filter(idle).collect();
        let (store, room) = (Arc::clone(store), limit - found.len());
        found.extend(blocking(move || claim(&store, idle, room)).await??);
        after = page.next;
        if is_last || found.len() >= limit || after.is_none() {
            break;
        }
    }
    Ok(found)
}

fn claim(
    store: &Arc<MemoryStore>,
    threads: Vec<ThreadRecord>,
    room: usize,
) -> Result<Vec<IdleThread>, MemoryStoreError> {
    let mut claimed = Vec::new();
    for thread in threads {
        if claimed.len() >= room {
            break;
        }
        let id = thread.id.as_str();
        if store.mode(id)? != MemoryMode::Enabled
            || (store.noted_at(id)?).is_some_and(|noted| noted >= thread.updated_at)
        {
            continue;
        }
        let work = format!("extract:{id}:{}", thread.updated_at);
        if let Some(lease) = Lease::take(store, &work)? {
            claimed.push(IdleThread { thread, lease });
        }
    }
    Ok(claimed)
}
