//! Where ids come from.

use std::fmt::Debug;

use codex_protocol::ThreadId;
use uuid::Uuid;

/// Makes ids.
pub trait Ids: Debug + Send + Sync {
    /// The id of a new thread.
    fn thread(&self) -> ThreadId;

    /// The id of a submission, and so of the turn that it starts.
    fn submission(&self) -> String;

    /// The id of an item without one.
    fn item(&self) -> String;
}

/// UUIDs: those of threads and submissions sort by time.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn thread(&self) -> ThreadId {
        ThreadId::new()
    }

    fn submission(&self) -> String {
        Uuid::now_v7().to_string()
    }

    fn item(&self) -> String {
        Uuid::new_v4().to_string()
    }
}
