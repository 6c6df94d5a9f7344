//! Layer: capability. Stores what users and clients attach to threads: goals, queued messages, read state,
//! sections, projects, attachments and marks; and the jobs that agents of a thread work through.
//!
//! The data is in one SQLite database in the home folder. Unlike the index over the threads it is not a cache: the
//! values exist nowhere else, and this crate never deletes the file. Processes share it; each change is one
//! transaction. Threads are identified by their ids; the caller checks whether they exist.

mod agent_jobs;
mod attachments;
mod database;
mod goals;
mod import;
mod marks;
mod projects;
mod queue;
mod read_state;
mod sections;

pub use agent_jobs::{
    AgentJob, AgentJobCounts, AgentJobItem, AgentJobReport, AgentJobStatus, NewAgentJob,
    NewAgentJobItem,
};
pub use attachments::{AddedAttachment, Attachment};
pub use database::{StateError, ThreadState};
pub use goals::{Goal, GoalChange, GoalError, GoalStatus};
pub use import::MessageConverter;
pub use projects::{NewProject, Project, ProjectChange, ProjectError};
pub use queue::{QueueEntry, QueueError, QueueHandover};
pub use read_state::{ReadState, ReadStateError, UnreadStart};
pub use sections::{PINNED_SECTION, Section, SectionError};
