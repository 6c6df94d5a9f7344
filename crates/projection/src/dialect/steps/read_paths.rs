//! The paths of files that a command reads.

use codex_app_server_protocol::v2::{CommandAction, ThreadItem};

use super::place::ItemPlace;
use crate::dialect::rows::Dialect;

pub(super) fn older(dialect: Dialect, item: &ThreadItem, _: ItemPlace<'_>) -> Option<ThreadItem> {
    if dialect.has_absolute_reads() {
        return None;
    }
    shortened(item)
}

/// The item with paths as the command has them, if they differ.
pub(crate) fn shortened(item: &ThreadItem) -> Option<ThreadItem> {
    let ThreadItem::CommandExecution {
        cwd,
        command_actions,
        ..
    } = item
    else {
        return None;
    };
    let older: Vec<_> = command_actions
        .iter()
        .map(|action| shortened_action(action, cwd))
        .collect();
    if older.iter().all(Option::is_none) {
        return None;
    }
    let mut item = item.clone();
    if let ThreadItem::CommandExecution {
        command_actions, ..
    } = &mut item
    {
        for (action, older) in command_actions.iter_mut().zip(older) {
            if let Some(older) = older {
                *action = older;
            }
        }
    }
    Some(item)
}

fn shortened_action(action: &CommandAction, cwd: &str) -> Option<CommandAction> {
    let CommandAction::Read {
        command,
        name,
        path,
    } = action
    else {
        return None;
    };
    let inner = path.strip_prefix(cwd)?.strip_prefix('/')?;
    (!command.contains(path.as_str())).then(|| CommandAction::Read {
        command: command.clone(),
        name: name.clone(),
        path: inner.to_owned(),
    })
}
