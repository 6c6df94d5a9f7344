//! The item of a command that waits for approval or review: newer clients know it from then on, older ones when it runs.
//! What a reviewer declined ends for newer clients with the actions that it began with.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::ThreadItem;

use crate::dialect::rows::{CommandBegin, Dialect};
use crate::{Change, Moment};

pub(super) fn is_sent(dialect: Dialect, change: &Change) -> bool {
    match change.moment {
        Moment::CommandAsked | Moment::CommandNeverRan => {
            dialect.command_begin() == CommandBegin::WhenItIsAskedAbout
        }
        Moment::CommandRuns => dialect.command_begin() == CommandBegin::WhenItRuns,
        _ => true,
    }
}

pub(super) fn older(
    dialect: Dialect,
    notification: &ServerNotification,
    moment: &Moment,
) -> Option<ServerNotification> {
    let (
        Moment::Declined {
            run_actions: Some(actions),
            ..
        },
        CommandBegin::WhenItRuns,
    ) = (moment, dialect.command_begin())
    else {
        return None;
    };
    let mut older = notification.clone();
    if let ServerNotification::ItemCompleted(completed) = &mut older
        && let ThreadItem::CommandExecution {
            command_actions, ..
        } = &mut completed.item.item
    {
        command_actions.clone_from(actions);
    }
    Some(older)
}
