//! Layer: capability. The index over all threads, which serves lists and look-ups.
//!
//! The index is a cache of the rollouts in an SQLite file; deleting it loses nothing. One thread owns it, and
//! [`ThreadStore`] is its handle. It is updated when threads are written, and by a background pass over the
//! folders that reads the head and the tail of new or changed files. No request waits for a pass: while the
//! first pass runs, a list is served from the rows that exist and the newest folders.
//!
//! Searches look through the messages of the threads ([`search`]), with tables in a second SQLite file.
//!
//! Names and git facts that users set are appended to files beside the rollouts ([`annotations`]) and to the
//! rollouts, so they outlive the index.

pub mod annotations;
mod changed_folders;
mod database;
mod facts_builder;
mod file;
mod folder;
mod index;
mod inspect;
mod line_filter;
mod line_reader;
mod list;
mod messages;
mod other_index;
mod pass;
mod query;
mod record;
mod search;
mod search_tables;
mod search_term;
mod search_watcher;
mod source_kinds;
mod store;

pub use facts_builder::{GOAL_CALL, GOAL_UPDATED, preview_of};
pub use file::{RecordError, read_record};
pub use index::FILE_NAME;
pub use inspect::{IndexState, Inspection, inspect};
pub use line_filter::LineFilter;
pub use query::{
    AncestorFilter, FoundThread, InvalidCursor, ListCursor, SearchPage, SideThreads, SortKey,
    ThreadPage, ThreadQuery,
};
pub use record::{ThreadFacts, ThreadRecord};
pub use search_term::{SearchTerm, TextMatch};
pub use search_watcher::SearchWatcher;
pub use source_kinds::SourceKinds;
pub use store::{StoreError, ThreadStore};
