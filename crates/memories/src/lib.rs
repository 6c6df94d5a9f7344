//! Layer: engine. Memories: what is worth knowing from earlier threads.
//!
//! [`MemoryRun::run`] works in the background of a thread that has started, in two phases. The first lets the model
//! extract notes from each thread that has been idle for some hours (`extraction`). The second lets an agent
//! work these notes into the files of the folder `memories` (`consolidation`), if they have changed. The agent works on a
//! copy (`folder`), so the folder is never writable for commands. Both phases use hidden threads (`hidden_thread`), so requests take
//! the same way as those of any thread. Secrets are removed from what the model reads and from what it writes.
//!
//! [`MemoryStore`] is the database of the notes, of the leases that keep processes from doing the same work, and of the memory
//! modes of threads. It is created on first use.

mod consolidation;
mod extraction;
mod folder;
mod hidden_thread;
mod idle_threads;
mod lease;
mod limits;
mod note;
mod run;
mod store;
mod transcript;

pub use run::MemoryRun;
pub use store::{MemoryMode, MemoryStore, MemoryStoreError};
