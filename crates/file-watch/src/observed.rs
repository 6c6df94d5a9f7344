//! What is observed, and what is seen.

use std::path::PathBuf;

/// Which events of a path are needed. Every event wakes the worker, and files in the home folder, which is above
/// most watched paths, are written all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchInterest {
    /// Created and removed entries.
    Entries,
    /// Also changed contents.
    Contents,
}

/// What happened at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathChange {
    /// It was created, removed or replaced.
    Replaced,
    /// Its content or attributes changed.
    Changed,
}

/// An event of the system.
#[derive(Debug)]
pub(crate) enum ObservedEvent {
    At(PathChange, PathBuf),
    /// The system dropped events.
    Lost,
}
