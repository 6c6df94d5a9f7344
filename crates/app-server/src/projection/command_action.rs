//! What a command does, as far as it can be told from its text.

use codex_app_server_protocol::v2::{CommandAction, ThreadItem};
use codex_protocol as v1;
use codex_visible_text::{visible_line, visible_script};

/// The actions of a command that runs in `cwd`. Files that are read have absolute paths, which clients insist on. The
/// other texts are for display, so what would not show in them is escaped.
pub(super) fn actions(parsed: &[v1::ParsedCommand], cwd: &str) -> Vec<CommandAction> {
    let line = |text: &String| visible_line(text);
    let action = |command: &v1::ParsedCommand| match command {
        v1::ParsedCommand::Read { cmd, name, path } => match absolute(path, cwd) {
            Some(path) => CommandAction::Read {
                command: visible_script(cmd),
                name: visible_line(name),
                path,
            },
            None => CommandAction::Unknown {
                command: visible_script(cmd),
            },
        },
        v1::ParsedCommand::ListFiles { cmd, path } => CommandAction::ListFiles {
            command: visible_script(cmd),
            path: path.as_ref().map(line),
        },
        v1::ParsedCommand::Search { cmd, query, path } => CommandAction::Search {
            command: visible_script(cmd),
            query: query.as_ref().map(line),
            path: path.as_ref().map(line),
        },
        v1::ParsedCommand::Unknown { cmd } => CommandAction::Unknown {
            command: visible_script(cmd),
        },
    };
    parsed.iter().map(action).collect()
}

/// None for a path in a home folder, which only the shell knows.
fn absolute(path: &str, cwd: &str) -> Option<String> {
    if path.starts_with('~') {
        return None;
    }
    let path = std::path::Path::new(cwd).join(path);
    let path = codex_file_system::absolute(path.to_str()?)?;
    Some(path.display().to_string())
}

/// Whether an item is a command that reads files.
pub(crate) fn reads_files(item: &ThreadItem) -> bool {
    let is_read = |action: &CommandAction| matches!(action, CommandAction::Read { .. });
    matches!(item, ThreadItem::CommandExecution { command_actions, .. } if command_actions.iter().any(is_read))
}

/// Shows paths as release 0.117 does: as the command has them. Returns whether there were any.
pub(crate) fn shorten_paths(item: &mut ThreadItem) -> bool {
    let ThreadItem::CommandExecution {
        cwd,
        command_actions,
        ..
    } = item
    else {
        return false;
    };
    let mut is_changed = false;
    for action in command_actions {
        let CommandAction::Read { command, path, .. } = action else {
            continue;
        };
        let inner = path.strip_prefix(cwd.as_str());
        let inner = inner.and_then(|inner| inner.strip_prefix('/'));
        if let Some(inner) = inner.filter(|_| !command.contains(path.as_str())) {
            *path = inner.to_owned();
            is_changed = true;
        }
    }
    is_changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> CommandAction {
        let parsed = v1::ParsedCommand::Read {
            cmd: format!("cat {path}"),
            name: "f".to_owned(),
            path: path.to_owned(),
        };
        actions(&[parsed], "/w/d").remove(0)
    }

    #[test]
    fn files_have_absolute_paths() {
        let path = |given: &str| match read(given) {
            CommandAction::Read { path, .. } => path,
            other => panic!("{other:?}"),
        };
        let paths = ["f", "../e/f", "/f", "./a//f"].map(path);
        assert_eq!(paths, ["/w/d/f", "/w/e/f", "/f", "/w/d/a/f"]);
        assert!(matches!(read("~/f"), CommandAction::Unknown { .. }));
    }
}
