//! Tells the recorder of checkpoints what a turn is about to change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use codex_checkpoints::{Checkpoint, PatchRecord, RunningCommand, ThreadRecorder, TurnMark};
use codex_gate::{CommandEffect, Permit, TurnPolicy, written_roots};

/// The characters of a label.
const LABEL_LENGTH: usize = 80;

/// The checkpoint of one turn. Does nothing without a recorder.
#[derive(Clone, Debug)]
pub struct TurnCheckpoint(Option<Arc<RecordedTurn>>);

#[derive(Debug)]
struct RecordedTurn {
    recorder: ThreadRecorder,
    turn: Arc<str>,
    at: i64,
    label: OnceLock<Arc<str>>,
}

/// A command that may write, until its process has ended.
#[derive(Debug)]
pub struct WatchedCommand {
    roots: Vec<PathBuf>,
    running: RunningCommand,
}

impl WatchedCommand {
    /// The process, and where it may write.
    pub fn split(self) -> (RunningCommand, Vec<PathBuf>) {
        (self.running, self.roots)
    }
}

impl TurnCheckpoint {
    pub fn new(recorder: Option<ThreadRecorder>, turn: &str, at: i64) -> Self {
        Self(recorder.map(|recorder| {
            Arc::new(RecordedTurn {
                recorder,
                turn: Arc::from(turn),
                at,
                label: OnceLock::new(),
            })
        }))
    }

    /// Sets what the checkpoint is known by: the beginning of what the user asked for.
    pub fn set_label(&self, text: &str) {
        if let Some(recorded) = &self.0 {
            let line = text.trim_start().lines().next().unwrap_or_default();
            let label: String = line.chars().take(LABEL_LENGTH).collect();
            let _ = recorded.label.set(Arc::from(label));
        }
    }

    /// Before a patch is applied that touches these paths.
    pub async fn before_patch<'p>(
        &self,
        item: &str,
        paths: impl Iterator<Item = &'p Path>,
    ) -> Option<PatchRecord> {
        let recorded = self.0.as_ref()?;
        let paths = paths.map(Path::to_owned).collect();
        let mark = recorded.mark();
        Some(recorded.recorder.before_patch(&mark, item, paths).await)
    }

    /// Before a command runs. None if it can only read.
    pub async fn before_command(
        &self,
        command: &CommandEffect,
        turn_policy: &TurnPolicy,
        permit: &Permit,
    ) -> Option<WatchedCommand> {
        self.0.as_ref()?;
        let roots = written_roots(command, turn_policy, permit);
        self.before_writing(roots).await
    }

    /// Before a command may write to these folders; none if there are none.
    pub async fn before_writing(&self, roots: Vec<PathBuf>) -> Option<WatchedCommand> {
        let recorded = self.0.as_ref()?;
        if roots.is_empty() {
            return None;
        }
        let mark = recorded.mark();
        let running = recorded.recorder.before_command(&mark, &roots).await;
        Some(WatchedCommand { roots, running })
    }

    /// After a command that was watched, or a wait for one.
    pub async fn after_command(&self, item: &str) {
        if let Some(recorded) = &self.0 {
            recorded
                .recorder
                .after_command(&recorded.mark(), item)
                .await;
        }
    }

    /// At the end of the turn. None if it has changed no files.
    pub async fn end(&self) -> Option<Checkpoint> {
        let recorded = self.0.as_ref()?;
        recorded.recorder.end_turn(&recorded.turn).await
    }
}

impl RecordedTurn {
    fn mark(&self) -> TurnMark {
        TurnMark {
            turn: Arc::clone(&self.turn),
            label: self.label.get_or_init(|| Arc::from("")).clone(),
            at: self.at,
        }
    }
}
