//! Records what the turns of one thread change.
//!
//! A patch names its files: their states are recorded before and after it. A command does not: the folders that it may
//! write to are walked before the first one that runs and after each. What changed while no command of the thread
//! ran was changed by somebody else. Everything that blocks runs on threads for blocking work.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::diff::line_counts;
use crate::manifest::{
    Checkpoint, CheckpointEnd, CheckpointKind, CheckpointStart, Coverage, FileChange, Line,
};
use crate::observe::observe;
use crate::state::{FileState, NotKept, NotKeptReason};
use crate::store::CheckpointStore;
use crate::walk::WalkError;
use crate::watched_folder::{WatchedFolder, not_restorable};

/// A patch may change larger files than a command of which the content is kept.
const MAX_PATCHED_BYTES: u64 = 64 * 1024 * 1024;

/// The turn that something happens in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnMark {
    /// Its id.
    pub turn: Arc<str>,
    /// The label of its checkpoint.
    pub label: Arc<str>,
    /// When, in seconds since 1970.
    pub at: i64,
}

/// The recorder of one thread. Its clones are the same recorder.
#[derive(Clone, Debug)]
pub struct ThreadRecorder {
    state: Arc<Mutex<State>>,
    commands: Arc<Commands>,
}

/// The commands of the thread that may write.
#[derive(Debug, Default)]
struct Commands {
    running: AtomicUsize,
    /// Whether one has run since the folders were last walked.
    unseen: AtomicBool,
}

/// A command that may write, from its start to its end.
#[derive(Debug)]
pub struct RunningCommand(Arc<Commands>);

impl RunningCommand {
    fn new(commands: &Arc<Commands>) -> Self {
        commands.running.fetch_add(1, Ordering::SeqCst);
        commands.unseen.store(true, Ordering::SeqCst);
        Self(Arc::clone(commands))
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Debug)]
struct State {
    store: Arc<CheckpointStore>,
    thread: String,
    watches_commands: bool,
    folders: Vec<WatchedFolder>,
    /// Folders that are too large.
    too_large: BTreeSet<PathBuf>,
    current: Option<CurrentTurn>,
}

/// What is known of the turn that runs.
#[derive(Debug)]
struct CurrentTurn {
    mark: TurnMark,
    id: String,
    changes: Vec<FileChange>,
    roots: BTreeSet<PathBuf>,
    not_kept: BTreeSet<NotKept>,
    /// Whether a command ran whose effects are not known.
    missed_commands: bool,
    /// Whether the manifest could not be written.
    failed: bool,
}

impl ThreadRecorder {
    /// A recorder for a thread. Without `watches_commands`, patches alone are recorded.
    #[must_use]
    pub fn new(store: Arc<CheckpointStore>, thread: &str, watches_commands: bool) -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                store,
                thread: thread.to_owned(),
                watches_commands,
                folders: Vec::new(),
                too_large: BTreeSet::new(),
                current: None,
            })),
            commands: Arc::default(),
        }
    }

    /// Before a patch changes these paths, which are absolute and lead through no link.
    pub async fn before_patch(
        &self,
        mark: &TurnMark,
        item: &str,
        paths: Vec<PathBuf>,
    ) -> PatchRecord {
        let mut state = Arc::clone(&self.state).lock_owned().await;
        let (mark, item) = (mark.clone(), item.to_owned());
        let begun = blocking(move || {
            state.turn(&mark);
            let before = state.observe_all(&paths);
            (state, before)
        });
        PatchRecord {
            begun: begun.await,
            item,
        }
    }

    /// Before a command runs that may write to these folders.
    pub async fn before_command(&self, mark: &TurnMark, roots: &[PathBuf]) -> RunningCommand {
        let mut state = Arc::clone(&self.state).lock_owned().await;
        let (mark, roots) = (mark.clone(), roots.to_vec());
        let commands = Arc::clone(&self.commands);
        let command = blocking(move || {
            state.before_command(&mark, &roots, &commands);
            RunningCommand::new(&commands)
        });
        match command.await {
            Some(command) => command,
            None => RunningCommand::new(&self.commands),
        }
    }

    /// After a command, or after a wait for one that goes on.
    pub async fn after_command(&self, mark: &TurnMark, item: &str) {
        let mut state = Arc::clone(&self.state).lock_owned().await;
        let (mark, item) = (mark.clone(), item.to_owned());
        let commands = Arc::clone(&self.commands);
        blocking(move || {
            state.turn(&mark);
            state.record_changes(&commands, Some(&item));
        })
        .await;
    }

    /// At the end of a turn. Returns its checkpoint, if it has changed files.
    pub async fn end_turn(&self, turn: &str) -> Option<Checkpoint> {
        let mut state = Arc::clone(&self.state).lock_owned().await;
        state
            .current
            .as_ref()
            .filter(|current| *current.mark.turn == *turn)?;
        let commands = Arc::clone(&self.commands);
        blocking(move || state.end_turn(&commands)).await.flatten()
    }
}

type PathStates = Vec<(PathBuf, FileState)>;

/// A patch that is about to be applied. Nothing else is recorded meanwhile.
#[derive(Debug)]
pub struct PatchRecord {
    /// The recorder, and what was there before.
    begun: Option<(OwnedMutexGuard<State>, PathStates)>,
    item: String,
}

impl PatchRecord {
    /// After the patch, whether it was applied or not.
    pub async fn end(self) {
        let Some((mut state, before)) = self.begun else {
            return;
        };
        let item = self.item;
        blocking(move || state.after_patch(before, &item)).await;
    }
}

impl State {
    /// The turn with this mark. An earlier one that has not ended is ended.
    fn turn(&mut self, mark: &TurnMark) -> &mut CurrentTurn {
        let is_current = self
            .current
            .as_ref()
            .is_some_and(|it| it.mark.turn == mark.turn);
        if !is_current {
            if let Err(error) = self.store.prepare() {
                tracing::warn!(%error, "there is no place for checkpoints");
            }
            let _ = self.conclude();
        }
        self.current.get_or_insert_with(|| CurrentTurn {
            mark: mark.clone(),
            id: uuid::Uuid::now_v7().to_string(),
            changes: Vec::new(),
            roots: BTreeSet::new(),
            not_kept: BTreeSet::new(),
            missed_commands: false,
            failed: false,
        })
    }

    fn observe_all(&mut self, paths: &[PathBuf]) -> PathStates {
        let blobs = &self.store.blobs;
        let states = paths.iter().map(|path| {
            let state = observe(path, blobs, MAX_PATCHED_BYTES);
            (path.clone(), state.0)
        });
        states.collect()
    }

    fn after_patch(&mut self, before: PathStates, item: &str) {
        let mut changes = Vec::new();
        for (path, before) in before {
            let (after, found) = observe(&path, &self.store.blobs, MAX_PATCHED_BYTES);
            for folder in &mut self.folders {
                folder.set(&path, &found, &after);
            }
            if before != after {
                changes.push(FileChange {
                    path,
                    before,
                    after,
                    item: Some(item.to_owned()),
                    is_certain: true,
                });
            }
        }
        self.record(changes);
    }

    fn before_command(&mut self, mark: &TurnMark, roots: &[PathBuf], commands: &Commands) {
        self.turn(mark);
        if !self.watches_commands {
            self.turn(mark).missed_commands = true;
            return;
        }
        // What has changed since a command of this turn began is of this turn. It is recorded now, or
        // together with the changes of those that still run.
        let is_unseen = !self.turn(mark).roots.is_empty() && commands.unseen.load(Ordering::SeqCst);
        if is_unseen && commands.running.load(Ordering::SeqCst) == 0 {
            self.record_changes(commands, None);
        }
        for root in distinct(roots) {
            let Ok(root) = codex_mounts::canonicalize(root) else {
                continue;
            };
            if root.parent().is_none() || self.too_large.contains(&root) {
                self.turn(mark).missed_commands = true;
                continue;
            }
            let around = |known: &Path| root.starts_with(known);
            let is_of_turn = self.turn(mark).roots.iter().any(|known| around(known));
            let watched = self.folders.iter().position(|it| around(it.root()));
            let walked = match watched {
                Some(_) if is_of_turn && is_unseen => Ok(()),
                Some(at) => self.folders[at].catch_up(&self.store),
                None => self.begin(&root),
            };
            let watched = watched.and_then(|at| self.folders.get(at));
            let root = watched.map_or(root.clone(), |watched| watched.root().to_owned());
            match walked {
                Ok(()) => drop(self.turn(mark).roots.insert(root)),
                Err(error) => self.give_up(&root, &error),
            }
        }
    }

    /// Begins to watch a folder, in the place of those inside of it.
    fn begin(&mut self, root: &Path) -> Result<(), WalkError> {
        let watched = WatchedFolder::begin(root, &self.store)?;
        self.folders.retain(|known| !known.root().starts_with(root));
        self.folders.push(watched);
        Ok(())
    }

    fn give_up(&mut self, root: &Path, error: &WalkError) {
        tracing::warn!(root = %root.display(), %error, "a folder is not watched");
        self.folders.retain(|known| known.root() != root);
        if matches!(error, WalkError::TooLarge) {
            self.too_large.insert(root.to_owned());
        }
        if let Some(current) = &mut self.current {
            current.roots.remove(root);
            current.missed_commands = true;
            let reason = match error {
                WalkError::TooLarge => NotKeptReason::TooManyFiles,
                WalkError::Io(_) => NotKeptReason::Unreadable,
            };
            current.not_kept.insert(NotKept {
                path: root.to_owned(),
                reason,
            });
        }
    }

    /// Walks the folders of the turn again, and records what has changed.
    fn record_changes(&mut self, commands: &Commands, item: Option<&str>) {
        let Some(current) = &self.current else {
            return;
        };
        let still_running = commands.running.load(Ordering::SeqCst) > 0;
        commands.unseen.store(still_running, Ordering::SeqCst);
        let roots = current.roots.clone();
        let mut changes = Vec::new();
        let mut not_kept = Vec::new();
        let mut failed = Vec::new();
        for folder in &mut self.folders {
            if !roots.contains(folder.root()) {
                continue;
            }
            match folder.changes(&self.store, item) {
                Ok(found) => {
                    changes.extend(found.files);
                    not_kept.extend(found.not_kept);
                }
                Err(error) => failed.push((folder.root().to_owned(), error)),
            }
        }
        for (root, error) in failed {
            self.give_up(&root, &error);
        }
        if let Some(current) = &mut self.current {
            current.not_kept.extend(not_kept);
        }
        self.record(changes);
    }

    fn record(&mut self, changes: Vec<FileChange>) {
        let Some(current) = &mut self.current else {
            return;
        };
        if changes.is_empty() {
            return;
        }
        for (path, reason) in not_restorable(&changes) {
            current.not_kept.insert(NotKept { path, reason });
        }
        let written = append_changes(&self.store, &self.thread, current, &changes);
        if let Err(error) = written {
            tracing::warn!(%error, "a checkpoint cannot be written");
            current.failed = true;
        }
        current.changes.extend(changes);
    }

    fn end_turn(&mut self, commands: &Commands) -> Option<Checkpoint> {
        let is_watching = self.current.as_ref().is_some_and(|it| !it.roots.is_empty());
        if is_watching && commands.unseen.load(Ordering::SeqCst) {
            self.record_changes(commands, None);
        }
        self.conclude()
    }

    /// Writes the end of the turn.
    fn conclude(&mut self) -> Option<Checkpoint> {
        let mut current = self.current.take()?;
        if current.changes.is_empty() {
            return None;
        }
        for folder in &self.folders {
            if current.roots.contains(folder.root()) {
                current.not_kept.extend(folder.unwatched().iter().cloned());
            }
        }
        let coverage = if current.missed_commands {
            Coverage::Patches
        } else if current.failed || !current.not_kept.is_empty() {
            Coverage::Partial
        } else {
            Coverage::Complete
        };
        let (insertions, deletions) = line_counts(&current.changes, &self.store.blobs);
        let end = CheckpointEnd {
            id: current.id,
            coverage,
            not_kept: current.not_kept.into_iter().collect(),
            roots: current.roots.into_iter().collect(),
            insertions,
            deletions,
        };
        let manifest = self.store.manifest(&self.thread);
        let written = manifest.and_then(|manifest| manifest.append(&Line::End(end.clone())));
        if let Err(error) = written {
            tracing::warn!(%error, "the end of a checkpoint cannot be written");
        }
        Some(Checkpoint {
            id: end.id,
            kind: CheckpointKind::Turn,
            turn: Some(current.mark.turn.to_string()),
            restored: None,
            at: current.mark.at,
            label: current.mark.label.to_string(),
            coverage: end.coverage,
            not_kept: end.not_kept,
            roots: end.roots,
            insertions,
            deletions,
            changes: current.changes,
        })
    }
}

/// Appends changes, and before the first ones the start of the checkpoint.
fn append_changes(
    store: &CheckpointStore,
    thread: &str,
    current: &CurrentTurn,
    changes: &[FileChange],
) -> io::Result<()> {
    let manifest = store.manifest(thread)?;
    if current.changes.is_empty() {
        manifest.append(&Line::Start(CheckpointStart {
            id: current.id.clone(),
            kind: CheckpointKind::Turn,
            turn: Some(current.mark.turn.to_string()),
            restored: None,
            at: current.mark.at,
            label: current.mark.label.to_string(),
        }))?;
    }
    manifest.append(&Line::Changes {
        checkpoint: current.id.clone(),
        changes: changes.to_vec(),
    })
}

/// The folders that are in none of the others.
fn distinct(roots: &[PathBuf]) -> Vec<&PathBuf> {
    let is_outermost = |root: &&PathBuf| {
        let mut others = roots.iter();
        !others.any(|other| *root != other && root.starts_with(other))
    };
    roots.iter().filter(is_outermost).collect()
}

/// Runs on a thread for blocking work. None if it panicked.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.inspect_err(|error| tracing::error!(%error, "the recorder of checkpoints failed"))
        .ok()
}
