//! The diff of all patches of a turn so far.

use std::path::PathBuf;
use std::sync::Arc;

use codex_apply_patch::{PatchPlan, PlannedFile, TurnDiff};
use codex_protocol::{EventMsg, ThreadSettings, TurnDiffEvent};
use codex_session_base::events::TurnEmitter;
use parking_lot::Mutex;

/// The diff of a turn. Shared by its patches, which run one after another.
#[derive(Clone, Debug)]
pub struct TurnDiffTracker {
    diff: Arc<Mutex<Option<TurnDiff>>>,
    cwd: PathBuf,
    /// Whether the folder is one of another machine.
    is_elsewhere: bool,
}

impl TurnDiffTracker {
    /// An empty diff of a turn in the folder of these settings.
    pub fn for_settings(settings: &ThreadSettings) -> Self {
        let first = settings.environments.first();
        let elsewhere = first.filter(|first| !first.is_local());
        Self {
            diff: Arc::default(),
            cwd: elsewhere.map_or_else(|| settings.cwd.clone(), |first| PathBuf::from(&first.cwd)),
            is_elsewhere: elsewhere.is_some(),
        }
    }

    /// Adds a file that was changed on another machine.
    pub fn record_elsewhere(&self, machine: &str, file: &PlannedFile<'_>) {
        let mut diff = self.diff.lock();
        diff.get_or_insert_default().record(machine, file);
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
    pub async fn emit(&self, emitter: &TurnEmitter) {
        // Without patches there is no diff.
        let Some(diff) = self.diff.lock().clone() else {
            return;
        };
        let (cwd, is_elsewhere) = (self.cwd.clone(), self.is_elsewhere);
        let event = tokio::task::spawn_blocking(move || {
            if is_elsewhere {
                return TurnDiffEvent {
                    unified_diff: diff.text(Some(&cwd)),
                    relative_diff: None,
                };
            }
            let repository = codex_project_markers::marked_folder(&cwd, ".git");
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
