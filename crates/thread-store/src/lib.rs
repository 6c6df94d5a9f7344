//! Layer: capability. The index over all threads, which answers lists and look-ups.
//!
//! It is a cache of what the rollouts say, an SQLite file in the home folder: deleting it loses
//! nothing. One thread owns it ([`Store`] is the handle). It is brought up to date as threads are
//! written, and by a pass over the folders in the background, which reads the head and the tail of
//! files that are new or changed. No request waits for a pass; while the first one runs, a list is
//! answered from what is there and the newest folders.
//!
//! What people say about threads, names and git facts, is appended to files beside the rollouts
//! ([`said`]) and to the rollouts, so that it outlives the index.

mod database;
mod digest;
mod file;
mod folder;
mod index;
mod inspect;
mod kinds;
mod lines;
mod list;
mod pass;
mod query;
mod record;
pub mod said;
mod store;

pub use digest::preview_of;
pub use file::{ReadError, read_record};
pub use index::FILE_NAME;
pub use inspect::{IndexState, Inspection, inspect};
pub use kinds::Kinds;
pub use query::{Cursor, Descent, InvalidCursor, Page, Query, SortKey};
pub use record::{Facts, ThreadRecord};
pub use store::{Store, StoreError};
