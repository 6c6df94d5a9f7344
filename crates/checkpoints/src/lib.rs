//! Layer: capability. What files were before the turns of a thread changed them, and going back to it.
//!
//! [`ThreadRecorder`] is called before and after patches and commands, and keeps what was there before. [`CheckpointStore`] holds it for
//! all threads below the home folder, lists and compares it, and restores it. A restore is a checkpoint itself.
//!
//! Nothing is ever written into a repository, and git is only asked for what it has. What cannot be brought back is
//! listed. Owners, times, and extended attributes of files are not kept: with old times, builds would take what was
//! restored for what they have built already.
//!
//! Code map: `state` (what is at a path), `blobs`, `manifest` and `store` (what is kept), `fs_node` and
//! `anchored_path` (what is at a path without links),
//! `walk` and `ignore_rules` (what is in a folder), `known_repository` (contents that git has), `watched_folder`, `copying`
//! and `content` (what a command has changed), `observe` and `recorder` (one thread), `history` and `diff` (comparing), `restore`, `moved`, `other_threads`,
//! `journal` and `error` (going back).

#[cfg(unix)]
mod anchored_path;
#[cfg(windows)]
#[path = "anchored_path_windows.rs"]
mod anchored_path;
mod blobs;
mod case_variants;
mod content;
mod copy_file;
mod copying;
mod diff;
mod error;
mod fs_node;
mod history;
mod ignore_rules;
mod journal;
mod known_repository;
mod manifest;
mod moved;
mod observe;
mod other_threads;
mod recorder;
mod restore;
mod state;
mod store;
mod walk;
mod watched_folder;

pub use diff::{CheckpointDiff, DifferenceKind, FileDifference};
pub use error::RestoreError;
pub use journal::RestoredFile;
pub use manifest::{Checkpoint, CheckpointKind, Coverage, FileChange};
pub use recorder::{PatchRecord, RunningCommand, ThreadRecorder, TurnMark};
pub use restore::{ConflictReason, OnConflict, RestoreConflict, RestoreReport, RestoreRequest};
pub use state::{ContentHash, FileStamp, FileState, NotAHash, NotKept, NotKeptReason};
pub use store::{CheckpointLimits, CheckpointStore};
