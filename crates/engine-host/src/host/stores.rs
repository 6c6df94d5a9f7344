//! What is kept over threads.

use std::sync::Arc;

use codex_app_server::Stores;
use codex_checkpoints::CheckpointStore;
use codex_login::Accounts;
use codex_memories::MemoryStore;
use codex_model_client::ModelStore;
use codex_thread_store::ThreadStore;

use super::EngineHost;

impl Stores for EngineHost {
    fn accounts(&self) -> &Arc<Accounts> {
        self.resources.accounts()
    }

    fn models(&self) -> &ModelStore {
        &self.models
    }

    fn checkpoints(&self) -> &Arc<CheckpointStore> {
        &self.checkpoints
    }

    fn memories(&self) -> &Arc<MemoryStore> {
        &self.memories
    }

    fn store(&self) -> &ThreadStore {
        &self.store
    }
}
