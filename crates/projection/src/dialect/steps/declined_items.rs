//! The ends of a command or patch that a client declined.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{ItemCompletedNotification, ThreadItem};

use crate::Moment;
use crate::dialect::rows::{DeclinedCommandEnd, Dialect};

/// The ends of an item.
pub(super) enum Ends {
    /// The one that is there.
    Same,
    Other(Box<ServerNotification>),
    /// The one that is there, after this one.
    After(Box<ServerNotification>),
}

pub(super) fn ends(dialect: Dialect, notification: &ServerNotification, moment: &Moment) -> Ends {
    let (
        Moment::Declined {
            by_client: true, ..
        },
        ServerNotification::ItemCompleted(end),
    ) = (moment, notification)
    else {
        return Ends::Same;
    };
    match &end.item.item {
        ThreadItem::FileChange { .. } if dialect.declined_patch_ends_twice() => {
            Ends::After(Box::new(notification.clone()))
        }
        ThreadItem::CommandExecution { .. } => match dialect.declined_command_end() {
            DeclinedCommandEnd::Full => Ends::Same,
            DeclinedCommandEnd::Bare => Ends::Other(without_text(end)),
            DeclinedCommandEnd::Twice => Ends::After(without_text(end)),
        },
        _ => Ends::Same,
    }
}

/// The end of a command without what the model gets in place of its output.
fn without_text(end: &ItemCompletedNotification) -> Box<ServerNotification> {
    let mut end = end.clone();
    if let ThreadItem::CommandExecution {
        aggregated_output,
        exit_code,
        duration_ms,
        ..
    } = &mut end.item.item
    {
        (*aggregated_output, *exit_code, *duration_ms) = (None, None, None);
    }
    Box::new(ServerNotification::ItemCompleted(end))
}
