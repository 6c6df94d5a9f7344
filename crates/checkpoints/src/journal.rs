//! The journal of a restore: all its steps, on disk before the first one runs.
//!
//! If the process is killed, the next one that opens the store finishes the work. A step can be
//! repeated: it compares what is there, and leaves what is already as it should be.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::anchored_path::AnchoredPath;
use crate::case_variants::CaseVariants;
use crate::diff::{DifferenceKind, line_counts};
use crate::error::RestoreError;
use crate::fs_node::{FsNode, TEMPORARY_PREFIX};
use crate::manifest::{
    Checkpoint, CheckpointEnd, CheckpointKind, CheckpointStart, Coverage, FileChange, Line,
};
use crate::observe::{is_state, obstacle};
use crate::state::{FileState, NotKept, stored_path};
use crate::store::CheckpointStore;

/// A file that was, or would be, restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredFile {
    pub path: PathBuf,
    pub kind: DifferenceKind,
}

/// One path that is to become something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RestoreStep {
    #[serde(with = "stored_path")]
    pub(crate) path: PathBuf,
    pub(crate) from: FileState,
    pub(crate) to: FileState,
}

/// What a step does, in the order in which they are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    RemoveFile,
    RemoveFolder,
    MakeFolder,
    Put,
}

impl RestoreStep {
    /// The step as a report shows it. Folders are not shown.
    pub(crate) fn shown(&self) -> Option<RestoredFile> {
        let is_nothing =
            |state: &FileState| matches!(state, FileState::Missing | FileState::Folder { .. });
        let kind = match (is_nothing(&self.from), is_nothing(&self.to)) {
            (true, true) => return None,
            (true, false) => DifferenceKind::Added,
            (false, true) => DifferenceKind::Deleted,
            (false, false) => DifferenceKind::Modified,
        };
        let path = self.path.clone();
        Some(RestoredFile { path, kind })
    }

    fn backwards(&self) -> Self {
        Self {
            path: self.path.clone(),
            from: self.to.clone(),
            to: self.from.clone(),
        }
    }

    fn phases(&self) -> Vec<Phase> {
        use FileState::{Folder, Missing};
        match (&self.from, &self.to) {
            (Folder { .. }, Folder { .. }) => vec![Phase::MakeFolder],
            (Folder { .. }, Missing) => vec![Phase::RemoveFolder],
            (Folder { .. }, _) => vec![Phase::RemoveFolder, Phase::Put],
            (_, Missing) => vec![Phase::RemoveFile],
            (Missing, Folder { .. }) => vec![Phase::MakeFolder],
            (_, Folder { .. }) => vec![Phase::RemoveFile, Phase::MakeFolder],
            (_, _) => vec![Phase::Put],
        }
    }
}

/// The work of one restore.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Journal {
    id: String,
    thread: String,
    label: String,
    restored: String,
    at: i64,
    steps: Vec<RestoreStep>,
    not_kept: Vec<NotKept>,
}

/// What happens to a path whose state is neither the old nor the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unexpected {
    Fail,
    Leave,
}

impl Journal {
    pub(crate) fn new(thread: &str, to: &Checkpoint, at: i64, steps: Vec<RestoreStep>) -> Self {
        let not_kept = steps.iter().filter_map(|step| {
            let reason = step.from.not_kept_reason()?;
            let path = step.path.clone();
            Some(NotKept { path, reason })
        });
        Self {
            id: uuid::Uuid::now_v7().to_string(),
            thread: thread.to_owned(),
            label: format!("Restore: {}", to.label),
            restored: to.id.clone(),
            at,
            not_kept: not_kept.collect(),
            steps,
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    fn path(&self, store: &CheckpointStore) -> PathBuf {
        store.journals().join(format!("{}.json", self.id))
    }

    fn temporary_name(&self) -> OsString {
        format!("{}{}", TEMPORARY_PREFIX, self.id).into()
    }

    /// Writes the journal. From now on the restore will be finished, by this process or a later one.
    pub(crate) fn write(&self, store: &CheckpointStore) -> io::Result<()> {
        let path = self.path(store);
        let unfinished = path.with_extension("new");
        codex_private_files::write(&unfinished, &serde_json::to_vec(self)?)?;
        std::fs::File::open(&unfinished)?.sync_all()?;
        std::fs::rename(&unfinished, &path)
    }

    pub(crate) fn remove(&self, store: &CheckpointStore) -> io::Result<()> {
        std::fs::remove_file(self.path(store))
    }

    /// Runs all steps. If one fails, those before it are undone.
    pub(crate) fn carry_out(&self, store: &CheckpointStore) -> Result<(), RestoreError> {
        let mut done = Vec::new();
        for (phase, step) in ordered(&self.steps) {
            if let Err(error) = self.act(store, phase, step, Unexpected::Fail) {
                let path = step.path.clone();
                return Err(self.take_back(store, &done, path, error));
            }
            if done.last() != Some(&step) {
                done.push(step);
            }
        }
        Ok(())
    }

    fn take_back(
        &self,
        store: &CheckpointStore,
        done: &[&RestoreStep],
        path: PathBuf,
        error: io::Error,
    ) -> RestoreError {
        let back: Vec<RestoreStep> = done.iter().map(|step| step.backwards()).collect();
        let mut left = Vec::new();
        for (phase, step) in ordered(&back) {
            if self.act(store, phase, step, Unexpected::Leave).is_err() {
                left.push(step.path.clone());
            }
        }
        if left.is_empty() {
            RestoreError::Failed { path, error }
        } else {
            RestoreError::HalfDone { path, error, left }
        }
    }

    /// Runs the steps that a killed process has left.
    fn finish(&self, store: &CheckpointStore) {
        for (phase, step) in ordered(&self.steps) {
            if let Err(error) = self.act(store, phase, step, Unexpected::Leave) {
                let path = step.path.display();
                tracing::warn!(%path, %error, "a file of an interrupted restore is left");
            }
        }
    }

    fn act(
        &self,
        store: &CheckpointStore,
        phase: Phase,
        step: &RestoreStep,
        unexpected: Unexpected,
    ) -> io::Result<()> {
        let Some(path) = AnchoredPath::open(&step.path)? else {
            // Without its folder, a file is gone already.
            return match (phase, unexpected) {
                (Phase::RemoveFile | Phase::RemoveFolder, _) => Ok(()),
                _ => Err(io::ErrorKind::NotFound.into()),
            };
        };
        let temporary = self.temporary_name();
        if unexpected == Unexpected::Leave && phase == Phase::Put {
            path.remove_name(&temporary)?;
        }
        let found = path.node()?;
        if is_state(&found, &step.to) {
            return Ok(());
        }
        let is_folder = matches!(found, FsNode::Folder(_));
        let is_expected = is_state(&found, &step.from)
            || matches!(found, FsNode::Missing)
            || (is_folder && matches!(step.from, FileState::Folder { .. }))
            || (is_folder && matches!(step.to, FileState::Folder { .. }));
        if !is_expected {
            return match unexpected {
                Unexpected::Fail => Err(io::Error::other("it was changed meanwhile")),
                Unexpected::Leave => Ok(()),
            };
        }
        match (phase, &step.to) {
            (Phase::RemoveFile, _) if !is_folder => path.remove_file(),
            (Phase::RemoveFolder, _) if is_folder => {
                let is_gone = path.remove_folder()?;
                if !is_gone && step.to != FileState::Missing {
                    return Err(io::ErrorKind::DirectoryNotEmpty.into());
                }
                Ok(())
            }
            (Phase::MakeFolder, FileState::Folder { mode }) if is_folder => {
                path.set_folder_mode(*mode)
            }
            (Phase::MakeFolder, FileState::Folder { mode }) => path.make_folder(*mode),
            (Phase::Put, FileState::File { hash, mode, .. }) => {
                path.put_file(&store.blobs.read(*hash)?, *mode, &temporary)
            }
            (Phase::Put, FileState::Link { target }) => path.put_link(target, &temporary),
            _ => Ok(()),
        }
    }

    /// Makes a checkpoint of the restore, and ends it.
    pub(crate) fn conclude(&self, store: &CheckpointStore) -> io::Result<()> {
        let manifest = store.manifest(&self.thread)?;
        let known = manifest.read()?;
        let known = known.iter().find(|known| known.id == self.id);
        if known.is_none() {
            manifest.append(&Line::Start(CheckpointStart {
                id: self.id.clone(),
                kind: CheckpointKind::Restore,
                turn: None,
                restored: Some(self.restored.clone()),
                at: self.at,
                label: self.label.clone(),
            }))?;
        }
        if known.is_none_or(|known| known.changes.is_empty()) {
            let changes = self.changes();
            let (insertions, deletions) = line_counts(&changes, &store.blobs);
            manifest.append(&Line::Changes {
                checkpoint: self.id.clone(),
                changes,
            })?;
            let coverage = if self.not_kept.is_empty() {
                Coverage::Complete
            } else {
                Coverage::Partial
            };
            manifest.append(&Line::End(CheckpointEnd {
                id: self.id.clone(),
                coverage,
                not_kept: self.not_kept.clone(),
                roots: Vec::new(),
                insertions,
                deletions,
            }))?;
        }
        self.remove(store)
    }

    /// What was changed. A folder that is still there had something else in it. What was in a folder in whose place
    /// there is something else is gone.
    fn changes(&self) -> Vec<FileChange> {
        let mut variants = CaseVariants::from_paths(self.steps.iter().map(|step| &step.path));
        let mut is_gone = |step: &RestoreStep| match variants.node_at(&step.path) {
            Ok(found) => matches!(found, FsNode::Missing),
            Err(_) => obstacle(&step.path).is_some(),
        };
        let is_done = |step: &&RestoreStep| step.to != FileState::Missing || is_gone(step);
        let steps = self.steps.iter().filter(is_done).cloned();
        let change = |step: RestoreStep| FileChange {
            path: step.path,
            before: step.from,
            after: step.to,
            item: None,
            is_certain: true,
        };
        steps.map(change).collect()
    }
}

/// The steps by phase. Folders are removed from the inside and made from the outside.
fn ordered(steps: &[RestoreStep]) -> Vec<(Phase, &RestoreStep)> {
    let phases = |step| RestoreStep::phases(step).into_iter();
    let mut all: Vec<(Phase, &RestoreStep)> = steps
        .iter()
        .flat_map(|step| phases(step).map(move |phase| (phase, step)))
        .collect();
    all.sort_by(|(phase, step), (other_phase, other)| {
        let by_path = match phase {
            Phase::RemoveFolder => other.path.cmp(&step.path),
            _ => step.path.cmp(&other.path),
        };
        phase.cmp(other_phase).then(by_path)
    });
    all
}

impl CheckpointStore {
    /// Finishes the restores of processes that were killed. Blocks.
    ///
    /// # Errors
    /// A journal cannot be read.
    pub fn finish_restores(&self) -> Result<(), RestoreError> {
        let _lock = match self.lock_restores() {
            Ok(lock) => lock,
            // It is the restore of a process that is alive.
            Err(RestoreError::Busy) => return Ok(()),
            Err(error) => return Err(error),
        };
        self.finish_journals()
    }

    /// The same, with the lock of restores held.
    pub(crate) fn finish_journals(&self) -> Result<(), RestoreError> {
        for entry in codex_mounts::read_dir(self.journals())? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "new") {
                std::fs::remove_file(path)?;
                continue;
            }
            let journal = serde_json::from_slice::<Journal>(&std::fs::read(&path)?);
            match journal {
                Ok(journal) => {
                    journal.finish(self);
                    journal.conclude(self)?;
                }
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "a journal cannot be read");
                }
            }
        }
        Ok(())
    }
}
