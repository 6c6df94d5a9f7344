//! A change of a live thread, as clients are told of it.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{CommandAction, TimedItem, Turn};

/// A notification in the newest form, and what older forms of it depend on.
#[derive(Clone, Debug)]
pub struct Change {
    pub notification: ServerNotification,
    pub moment: Moment,
}

/// What happens, as far as the notification does not say it.
#[derive(Clone, Debug, PartialEq)]
pub enum Moment {
    /// Nothing else.
    Usual,
    /// A command that has not begun waits for an approval. In the newest form it begins then.
    CommandAsked,
    /// A command that has waited for an approval runs.
    CommandRuns,
    /// A command ends that nobody has decided about.
    CommandNeverRan,
    /// An item ends because it was declined.
    Declined {
        /// By the answer of a client.
        by_client: bool,
        /// The actions of the command, if it was asked about with others.
        run_actions: Option<Vec<CommandAction>>,
    },
    /// An item ends after its turn was interrupted.
    EndedByInterrupt,
    /// The turn of such an item was complete nevertheless. The newest form has told its end already.
    EndedBeforeInterrupt,
    /// A response has used tokens. In the newest form this is told after the calls of the response.
    UsageReported,
    /// The calls of the response are over.
    UsageCounted,
    /// What was used is told again.
    UsageRepeated,
    /// The diff of a turn outside a repository has relative paths. This is the one with absolute paths.
    DiffedOutsideRepository(String),
}

/// A turn that runs, as a client is shown it that did not hear of its begin.
#[derive(Clone, Debug)]
pub struct RunningTurn {
    /// With its unfinished items.
    pub turn: Turn,
    /// The commands that wait for an approval. In the newest form they have begun.
    pub asked: Vec<TimedItem>,
}

impl Moment {
    /// Whether the newest form says nothing then.
    #[cfg(test)]
    pub fn is_of_older_forms(&self) -> bool {
        matches!(
            self,
            Self::CommandRuns | Self::EndedBeforeInterrupt | Self::UsageReported
        )
    }
}

impl From<ServerNotification> for Change {
    fn from(notification: ServerNotification) -> Self {
        Self {
            notification,
            moment: Moment::Usual,
        }
    }
}
