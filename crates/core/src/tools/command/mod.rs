//! What all shell tools share: the item of a command, approval, the run and the output for the model.

mod format;
mod item;
mod request;
mod run;

use codex_protocol::ParsedCommand;
use codex_shell_command::{CommandAction, command_actions};

pub(crate) use format::{OutputLayout, structured};
pub(crate) use item::{CommandEnd, CommandItem};
pub(crate) use request::{ApprovalArguments, approval_properties};
pub(crate) use run::{
    CommandRequest, DECLINED, attempt, effect, launch, run_command, spawn_problem,
};

/// The actions of a command, for clients.
pub(crate) fn parsed_command(argv: &[String]) -> Vec<ParsedCommand> {
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
    command_actions(argv).into_iter().map(parsed).collect()
}
