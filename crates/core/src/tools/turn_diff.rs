//! The diff of all patches of a turn so far.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_apply_patch::{PatchPlan, TurnDiff};
use codex_protocol::{EventMsg, TurnDiffEvent};
use parking_lot::Mutex;

use crate::events::TurnEmitter;

/// The diff of a turn. Shared by its patches, which run one after another.
#[derive(Clone, Debug)]
pub(crate) struct TurnDiffTracker(Arc<Mutex<Option<TurnDiff>>>, Option<PathBuf>);

impl TurnDiffTracker {
    /// An empty diff. Paths are relative to the repository around `cwd`.
    pub(crate) fn new(cwd: &Path) -> Self {
        let root = codex_sandbox::marked_folder(cwd, ".git");
        Self(Arc::default(), root.map(Path::to_owned))
    }

    /// Applies a plan and updates the diff. Reads and writes files.
    pub(crate) fn apply(&self, plan: &PatchPlan) -> Result<(), String> {
        let mut diff = self.0.lock();
        let diff = diff.get_or_insert_with(|| TurnDiff::new(self.1.clone()));
        diff.before(plan);
        codex_apply_patch::apply(plan).map_err(|error| error.to_string())?;
        diff.after(plan);
        Ok(())
    }

    /// Emits the diff, if there is one.
    pub(crate) async fn emit(&self, emitter: &TurnEmitter) {
        // Without patches there is no diff.
        let Some(diff) = self.0.lock().clone() else {
            return;
        };
        let text = tokio::task::spawn_blocking(move || diff.text());
        let unified_diff = text.await.unwrap_or_default();
        if !unified_diff.is_empty() {
            emitter.emit(EventMsg::TurnDiff(TurnDiffEvent { unified_diff }));
        }
    }
}
