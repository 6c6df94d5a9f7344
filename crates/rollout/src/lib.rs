//! Layer: capability. The append-only log of a thread, called a rollout.
//!
//! A rollout is a file of JSON lines under the home folder. [`RolloutWriter`] owns the one thread that writes
//! all rollouts, and [`RolloutLog`] is what a session appends to. [`load()`] reads a whole file, [`scan()`]
//! iterates over its lines, [`find()`] locates the file of a thread. [`archive`], [`unarchive`] and [`amend()`]
//! work on threads that are not loaded. [`RolloutChain`] follows references to the files that a file
//! continues. A line that cannot be read is counted and skipped, and an append after an incomplete line starts
//! a new line.
//!
//! This crate does not interpret the lines: the engine rebuilds the history from them.

mod amend;
mod chain;
mod claim;
mod find;
mod folders;
mod last_images;
mod line;
mod load;
mod lock;
mod log;
mod long_line;
mod message_history;
mod message_images;
mod mirrored;
mod names;
mod ordinals;
mod path;
mod persist;
mod scan;
mod synchroniser;
mod writer;

pub use amend::{amend, append_line};
pub use chain::RolloutChain;
pub use claim::{ClaimError, WriteClaim};
pub use find::find;
pub use folders::{
    ARCHIVED_FOLDER, MoveError, archive, day_folders, delete, find_archived, id_of, moved_folder,
    unarchive,
};
pub use last_images::MessageImages;
pub use line::LineKind;
pub use load::{LoadedRollout, RolloutLoadError, head, load};
pub use lock::{HeldLock, LockError, LockHolder, ThreadLock, ThreadLocks};
pub use log::{RolloutLog, RolloutWriteError};
pub use message_history::{MessageHistoryState, add_message, message_at, message_history};
pub use message_images::name_images;
pub use mirrored::mirrored_item;
pub use names::{name_of, set_name};
pub use ordinals::{has_ordinals, is_numbered_from_zero};
pub use path::{RolloutPath, SESSIONS, folder_name, folder_path, parse_file_name};
pub use persist::{PersistedDetail, is_persisted, reduced};
pub use scan::{LineSelection, ScannedLine, scan, scan_segment, scan_selection};
pub use writer::{RolloutWriter, WriteObserver};
