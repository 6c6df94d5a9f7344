//! Going back: files become what they were before a checkpoint.
//!
//! A file goes back if it is what the last recorded change left. If it is something else, somebody else changed it, and
//! that is a conflict. What is replaced is stored first: a restore is a checkpoint itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::case_variants::CaseVariants;
use crate::diff::position;
use crate::error::RestoreError;
use crate::fs_node::FsNode;
use crate::history::{PathHistory, histories, is_wanted};
use crate::journal::{Journal, RestoreStep, RestoredFile};
use crate::moved::{MovedFiles, Removed};
use crate::observe::{is_state, not_kept, observe, obstacle};
use crate::state::{FileState, NotKept, NotKeptReason};
use crate::store::CheckpointStore;

/// How long to wait for the lock of restores. A child process holds a copy of it from its fork until it runs its program.
const LOCK_WAIT: Duration = Duration::from_secs(1);
const LOCK_POLL: Duration = Duration::from_millis(5);

/// What a restore replaces is kept up to this size.
const MAX_REPLACED_BYTES: u64 = 256 * 1024 * 1024;

/// The mode of folders that have to be made and of which nothing is known.
const FOLDER_MODE: u32 = 0o755;

/// What to do about files that somebody else has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Change nothing at all.
    #[default]
    Fail,
    /// Leave them, and restore the others.
    Skip,
    /// Restore them, too.
    Overwrite,
}

/// What to restore.
#[derive(Clone, Debug, Default)]
pub struct RestoreRequest {
    /// Files become what they were before this checkpoint.
    pub checkpoint: String,
    /// Only these files, and what is in these folders. All, if there are none.
    pub paths: Vec<PathBuf>,
    pub on_conflict: OnConflict,
    /// Whether to change nothing, and only answer what would be.
    pub dry_run: bool,
    /// The time, in seconds since 1970.
    pub at: i64,
}

/// Why a file cannot go back without loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictReason {
    /// It was changed after the last recorded change.
    ChangedSince,
    /// It was changed between two recorded changes.
    ChangedBetween,
    /// A command of another thread ran at the same time, and may have changed it.
    OtherThread,
    /// It cannot be reached: a link or a file is in the way, or it may not be read.
    Unreachable,
}

/// A file that cannot go back without loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreConflict {
    pub path: PathBuf,
    pub reason: ConflictReason,
}

/// What a restore has done, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreReport {
    pub changed: Vec<RestoredFile>,
    pub conflicts: Vec<RestoreConflict>,
    pub not_kept: Vec<NotKept>,
    /// Going back to it undoes the restore. None if nothing was changed.
    pub undo_checkpoint: Option<String>,
}

/// What is to be done.
#[derive(Default)]
struct RestorePlan {
    steps: Vec<RestoreStep>,
    conflicts: Vec<RestoreConflict>,
    not_kept: Vec<NotKept>,
    moved: MovedFiles,
    /// Changes that may be of other threads.
    shared: BTreeSet<PathBuf>,
}

impl CheckpointStore {
    /// Restores files of a thread, which must not run a turn meanwhile. Blocks.
    ///
    /// # Errors
    /// There is no such checkpoint, or a file cannot be written. Then all are as they were.
    pub fn restore(
        &self,
        thread: &str,
        request: &RestoreRequest,
    ) -> Result<RestoreReport, RestoreError> {
        let _lock = self.lock_restores()?;
        self.finish_journals()?;
        let checkpoints = self.checkpoints(thread)?;
        let from = position(&checkpoints, &request.checkpoint)?;
        let mut wanted = histories(&checkpoints[from..]);
        wanted.retain(|path, _| is_wanted(path, &request.paths));
        let mut plan = RestorePlan {
            shared: self.shared_changes(thread, &checkpoints[from..])?,
            ..RestorePlan::default()
        };
        let mut variants = CaseVariants::from_paths(wanted.keys());
        for (path, history) in &wanted {
            match found_at(path, &wanted, &mut variants) {
                Some(found) => self.plan_path(path, found, history, request, &mut plan),
                None => plan.conflicts.push(RestoreConflict {
                    path: path.clone(),
                    reason: ConflictReason::Unreachable,
                }),
            }
        }
        let moved = std::mem::take(&mut plan.moved);
        moved.put_back(&mut plan.steps, &mut plan.not_kept);
        add_parents(&mut plan.steps);
        let unwatched = checkpoints[from..].iter().flat_map(|it| &it.not_kept);
        let unwatched = unwatched.filter(|it| !wanted.contains_key(&it.path));
        let known: BTreeSet<NotKept> = plan.not_kept.drain(..).chain(unwatched.cloned()).collect();
        let refused = request.on_conflict == OnConflict::Fail && !plan.conflicts.is_empty();
        let mut report = RestoreReport {
            changed: plan.steps.iter().filter_map(RestoreStep::shown).collect(),
            conflicts: plan.conflicts,
            not_kept: known.into_iter().collect(),
            undo_checkpoint: None,
        };
        if refused && !request.dry_run {
            report.changed.clear();
        }
        if request.dry_run || refused || plan.steps.is_empty() {
            return Ok(report);
        }
        let journal = Journal::new(thread, &checkpoints[from], request.at, plan.steps);
        journal.write(self)?;
        if let Err(error) = journal.carry_out(self) {
            journal.remove(self)?;
            return Err(error);
        }
        journal.conclude(self)?;
        report.undo_checkpoint = Some(journal.id().to_owned());
        Ok(report)
    }

    /// One restore runs at a time, of all processes.
    pub(crate) fn lock_restores(&self) -> Result<File, RestoreError> {
        self.prepare()?;
        let mut options = File::options();
        options.write(true).create(true);
        let lock = codex_private_files::open(&self.restore_lock(), &mut options)?;
        let until = Instant::now() + LOCK_WAIT;
        while lock.try_lock().is_err() {
            if Instant::now() >= until {
                return Err(RestoreError::Busy);
            }
            std::thread::sleep(LOCK_POLL);
        }
        Ok(lock)
    }

    fn plan_path(
        &self,
        path: &Path,
        found: FsNode,
        history: &PathHistory,
        request: &RestoreRequest,
        plan: &mut RestorePlan,
    ) {
        if is_state(&found, &history.first) {
            return;
        }
        let reason = match &history.first {
            FileState::File { hash, .. } if !self.blobs.contains(*hash) => {
                Some(NotKeptReason::Gone)
            }
            first => first.not_kept_reason(),
        };
        if let Some(reason) = reason {
            plan.moved.add_wanted(path, &found, history);
            let path = path.to_owned();
            return plan.not_kept.push(NotKept { path, reason });
        }
        let conflict = if !is_state(&found, &history.last) {
            Some(ConflictReason::ChangedSince)
        } else if !history.is_continuous {
            Some(ConflictReason::ChangedBetween)
        } else if plan.shared.contains(path) {
            Some(ConflictReason::OtherThread)
        } else {
            None
        };
        if let Some(reason) = conflict {
            let path = path.to_owned();
            plan.conflicts.push(RestoreConflict { path, reason });
            if request.on_conflict != OnConflict::Overwrite {
                return;
            }
        }
        let from = if request.dry_run || matches!(found, FsNode::Missing) {
            hashed(&found)
        } else {
            observe(path, &self.blobs, MAX_REPLACED_BYTES).0
        };
        if let (FsNode::File(_, facts), FileState::Missing) = (&found, &history.first) {
            let step = plan.steps.len();
            plan.moved.add_removed(Removed {
                step,
                facts: *facts,
            });
        }
        plan.steps.push(RestoreStep {
            path: path.to_owned(),
            from,
            to: history.first.clone(),
        });
    }
}

/// What is at a path. Nothing is, if the turns put a link or file in the place of a folder of it: that goes first. None
/// if somebody else did, or it cannot be read.
fn found_at(
    path: &Path,
    wanted: &BTreeMap<PathBuf, PathHistory>,
    variants: &mut CaseVariants<'_>,
) -> Option<FsNode> {
    if let Ok(found) = variants.node_at(path) {
        return Some(found);
    }
    let obstacle = obstacle(path)?;
    let history = wanted.get(obstacle)?;
    let found = variants.node_at(obstacle).ok()?;
    let goes = is_state(&found, &history.last) && history.first != history.last;
    goes.then_some(FsNode::Missing)
}

/// Adds the folders that are missing on the way to what is put back.
fn add_parents(steps: &mut Vec<RestoreStep>) {
    let known: BTreeMap<PathBuf, FileState> = steps
        .iter()
        .map(|step| (step.path.clone(), step.to.clone()))
        .collect();
    let mut missing = BTreeSet::new();
    for step in steps.iter().filter(|step| step.to != FileState::Missing) {
        for folder in step.path.ancestors().skip(1) {
            if known.contains_key(folder) || folder.symlink_metadata().is_ok() {
                break;
            }
            missing.insert(folder.to_owned());
        }
    }
    steps.extend(missing.into_iter().map(|path| RestoreStep {
        path,
        from: FileState::Missing,
        to: FileState::Folder { mode: FOLDER_MODE },
    }));
}

/// The state of what was found, with nothing stored.
fn hashed(found: &FsNode) -> FileState {
    match found {
        FsNode::Missing => FileState::Missing,
        FsNode::Link(target) => FileState::Link {
            target: target.clone(),
        },
        FsNode::Folder(facts) => FileState::Folder { mode: facts.mode },
        FsNode::Special => FileState::Special,
        FsNode::File(_, facts) => not_kept(facts, NotKeptReason::Limit),
    }
}
