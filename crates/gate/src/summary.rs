//! What clients are shown that a command does.
//!
//! A command is shown as reading only if the gate knows it to only read, with the programs of this machine.

use std::path::Path;

use codex_protocol::ParsedCommand;
use codex_sandbox::Grants;
use codex_shell_command::{CommandAction, command_actions, quote_command, shell_script};

use super::programs::CommandPrograms;
use super::turn_policy::TurnPolicy;

/// The actions of a command that runs in `cwd`, perhaps of another machine.
pub fn command_summary(
    argv: &[String],
    cwd: &Path,
    is_elsewhere: bool,
    turn_policy: &TurnPolicy,
    grants: Grants,
) -> Vec<ParsedCommand> {
    if is_elsewhere {
        // Nothing is known about the programs there.
        let cmd = match shell_script(argv) {
            Some(script) => script.to_owned(),
            None => quote_command(argv),
        };
        return vec![ParsedCommand::Unknown { cmd }];
    }
    let programs = CommandPrograms::new(turn_policy, cwd, false, grants);
    let parsed = |action| match action {
        CommandAction::Read {
            command: cmd,
            name,
            path,
        } => ParsedCommand::Read { cmd, name, path },
        CommandAction::ListFiles { command: cmd, path } => ParsedCommand::ListFiles { cmd, path },
        CommandAction::Search {
            command: cmd,
            query,
            path,
        } => ParsedCommand::Search { cmd, query, path },
        CommandAction::Unknown { command: cmd } => ParsedCommand::Unknown { cmd },
    };
    command_actions(argv, &programs)
        .into_iter()
        .map(parsed)
        .collect()
}
