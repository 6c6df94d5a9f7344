//! Layer: capability. What users and clients attach to threads: goals, queued messages, read state,
//! sections, projects and attachments.
//!
//! All of it is in one SQLite file of the home folder. Unlike the index over the threads it is no cache:
//! nothing else has these values, and nothing here deletes the file. Processes share it; each change is
//! one transaction. Threads are named by their ids, and whether a thread exists is up to the caller.

mod attachments;
mod database;
mod goals;
mod projects;
mod queue;
mod read_state;
mod sections;

pub use attachments::{Added, Attachment};
pub use database::{StateError, ThreadState};
pub use goals::{Goal, GoalChange, GoalError, GoalStatus};
pub use projects::{NewProject, Project, ProjectChange, ProjectError};
pub use queue::{QueueError, Queued};
pub use read_state::{ReadError, ReadState, Unread};
pub use sections::{PINNED, Section, SectionError};
