//! The history of a thread: what the model is sent, in order, and what else is remembered between turns.
//!
//! The history is always well-formed: it never holds an output without its call, and before a request is built
//! every call without an output is given one. An item is written as JSON once, when it is recorded. Facts about
//! the history are kept up to date, so the cost of a turn does not grow with the number of turns before it,
//! except for the bytes of its request.

mod compactions;
mod context_use;
mod contextual;
mod conversation;
mod entry;
mod images;
mod items;
mod messages;
mod rebuild;
mod rollback;
mod sent_prefix;
pub mod summary;
pub mod truncate;
mod unfinished;

pub use compactions::CompactionReader;
pub use compactions::{DroppedItem, RestoreItemsError, StoredCompaction};
pub use context_use::{ContextPartKind, ContextSnapshot, ContextUse, PartUse};
pub use contextual::{
    first_user_text, folder_instructions_in, instructions_in, is_context_text, is_contextual,
    texts, wrapped_folder_instructions, wrapped_instructions, wrapped_pin,
};
pub use conversation::{Conversation, Recorder};
pub use entry::{EntryKind, HistoryEntry};
pub use messages::{developer_message, user_message};
pub use sent_prefix::SentPrefix;
pub use unfinished::UnfinishedLines;
pub use unfinished::{UnfinishedCall, UnfinishedTurn};
