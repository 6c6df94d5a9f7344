//! The diff of all patches of a turn so far.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_apply_patch::{PatchPlan, TurnDiff};
use codex_protocol::{EventMsg, TurnDiffEvent};
use parking_lot::Mutex;

use crate::events::TurnEmitter;

/// The diff of a turn. Shared by its patches, which run one after another.
#[derive(Clone, Debug)]
pub(crate) struct TurnDiffTracker {
    diff: Arc<Mutex<Option<TurnDiff>>>,
    cwd: PathBuf,
}

impl TurnDiffTracker {
    /// An empty diff of a turn in this folder.
    pub(crate) fn new(cwd: &Path) -> Self {
        Self {
            diff: Arc::default(),
            cwd: cwd.to_owned(),
        }
    }

    /// Applies a plan and updates the diff. Reads and writes files.
    pub(crate) fn apply(&self, plan: &PatchPlan) -> Result<(), String> {
        let mut diff = self.diff.lock();
        let diff = diff.get_or_insert_default();
        diff.before(plan);
        codex_apply_patch::apply(plan).map_err(|error| error.to_string())?;
        diff.after(plan);
        Ok(())
    }

    /// Emits the diff, if there is one.
    pub(crate) async fn emit(&self, emitter: &TurnEmitter) {
        // Without patches there is no diff.
        let Some(diff) = self.diff.lock().clone() else {
            return;
        };
        let cwd = self.cwd.clone();
        let event = tokio::task::spawn_blocking(move || {
            let repository = codex_sandbox::marked_folder(&cwd, ".git");
            TurnDiffEvent {
                unified_diff: diff.text(repository),
                relative_diff: repository.is_none().then(|| diff.text(Some(&cwd))),
            }
        });
        match event.await {
            Ok(event) if !event.unified_diff.is_empty() => emitter.emit(EventMsg::TurnDiff(event)),
            _ => {}
        }
    }
}
