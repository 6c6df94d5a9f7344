//! The operations `drop_memories` and `update_memories` of `codex proto`. Each answers with a text for people.

use std::sync::Arc;

use anyhow::Context;
use codex_config::Config;
use codex_core::{SessionConfig, ThreadManager};
use codex_engine_host::memories;
use codex_memories::{MemoryRun, MemoryStore};
use codex_protocol::ThreadId;
use codex_thread_store::ThreadStore;

/// Forgets all notes and deletes the files.
pub(crate) async fn drop_all(config: &Config) -> anyhow::Result<&'static str> {
    let (home, folder) = (config.home.clone(), config.storage.sqlite_home.clone());
    let dropped = move || MemoryStore::in_folder(&folder).reset(&home);
    tokio::task::spawn_blocking(dropped).await??;
    Ok("The memories are dropped.")
}

/// Makes memories in the background, where the feature is on.
pub(crate) fn update(
    config: &Config,
    manager: &Arc<ThreadManager>,
    session: &SessionConfig,
    thread: &ThreadId,
) -> anyhow::Result<&'static str> {
    let settings = memories::generation(config);
    let settings = settings.context("memories are not made: set features.memories to true")?;
    let making = MemoryRun {
        store: Arc::new(MemoryStore::in_folder(&config.storage.sqlite_home)),
        threads: ThreadStore::kept_in(&config.home, &config.storage.sqlite_home),
        manager: Arc::clone(manager),
        config: session.clone(),
        settings,
        thread: thread.clone(),
        accounts: None,
    };
    tokio::spawn(making.run());
    Ok("Memories are updated in the background.")
}
