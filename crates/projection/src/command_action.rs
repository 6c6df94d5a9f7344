//! What a command does, as far as it can be told from its text.

use codex_app_server_protocol::v2::CommandAction;
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
