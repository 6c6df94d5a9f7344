//! Layer: capability. The append-only log of a thread, called a rollout.
//!
//! A rollout is a file of JSON lines under the home folder. [`Writer`] owns the one thread that
//! writes them all, [`Log`] is what a session appends to, [`load`] reads a file back, [`scan`] goes
//! through one and [`find`] finds the file of a thread; [`archive`], [`unarchive`] and [`amend`] are for
//! threads at rest. [`Chain`] tells what a file goes on from, if that is another one. A line is either whole or ignored: a line that cannot be read is
//! counted and skipped, and an append after a torn line starts on a line of its own.
//!
//! It does not know what the lines mean; rebuilding a history from them is the engine's job.

mod amend;
mod chain;
mod claim;
mod find;
mod folders;
mod line;
mod load;
mod lock;
mod log;
mod message_history;
mod names;
mod persist;
mod place;
mod scan;
mod writer;

pub use amend::{amend, append_line};
pub use chain::Chain;
pub use claim::{Claim, ClaimError};
pub use find::find;
pub use folders::{
    ARCHIVED, MoveError, archive, day_folders, delete, find_archived, id_of, unarchive,
};
pub use line::LineKind;
pub use load::{LoadError, Loaded, head, load};
pub use lock::{Held, Holder, Lock, LockError, Locks};
pub use log::{Log, LogError};
pub use message_history::{MessageHistoryState, add_message, message_at, message_history};
pub use names::{name_of, set_name};
pub use persist::{Detail, is_persisted, reduced};
pub use place::{Place, SESSIONS, parse_file_name};
pub use scan::{ScannedLine, scan, scan_stretch};
pub use writer::{Heard, Writer};
