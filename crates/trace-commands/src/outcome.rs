//! How a command on traces ended.

/// How a command on traces ended. The worse one of two is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TraceOutcome {
    /// All is done, the same, or found.
    Done,
    /// A search found nothing.
    NothingFound,
    /// Something is worth a look.
    Findings,
    /// Runs or requests differ.
    Different,
    /// Some bundles could not be packed or deleted.
    PartlyDone,
    /// A bundle or a pattern cannot be read.
    Unreadable,
    /// All is done, or the same, as far as a damaged bundle goes.
    Damaged,
    /// A session cannot be replayed.
    NotReplayable,
}

impl TraceOutcome {
    /// The exit status that the help of each command names.
    pub fn exit_status(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::NothingFound | Self::Findings | Self::Different | Self::PartlyDone => 1,
            Self::Unreadable => 2,
            Self::Damaged => 3,
            Self::NotReplayable => 4,
        }
    }
}
