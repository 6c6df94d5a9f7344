//! Describes what a command does, for display only. No decision is based on it.
//!
//! A script is split into simple commands, and commands that only format output are left out. The others are classified.
//! If any of them is unknown, the whole script is unknown, because a summary must not hide anything. A call that is not
//! [known to be safe](crate::is_known_safe) is unknown as well: a client may allow what it takes for reading.

mod classify;
mod operands;

use crate::bash::{Connector, SimpleCommand, plain_commands};
use crate::call::{ShellCall, ShellKind};
use crate::quote::quote_command;
use crate::safe::{ProgramCheck, is_known_safe};
use crate::word::ShellWord;
use classify::{changes_folder, classify, only_shapes_output, runs_sed_quietly};

/// The action of one command. `command` is the command in shell syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandAction {
    Read {
        command: String,
        /// The display name of the file.
        name: String,
        /// The path as written, relative to the target of preceding `cd` commands.
        path: String,
    },
    ListFiles {
        command: String,
        path: Option<String>,
    },
    Search {
        command: String,
        query: Option<String>,
        path: Option<String>,
    },
    Unknown {
        command: String,
    },
}

/// The actions of a call. Empty if it only changes the folder.
pub fn command_actions(argv: &[String], programs: &dyn ProgramCheck) -> Vec<CommandAction> {
    let claimed = claimed_actions(argv);
    let claimed = claimed.filter(|_| is_known_safe(argv, programs));
    claimed.unwrap_or_else(|| {
        let command = unknown_command(argv, programs);
        vec![CommandAction::Unknown { command }]
    })
}

/// The script of a call, or all of it if it is not clear what runs the script.
fn unknown_command(argv: &[String], programs: &dyn ProgramCheck) -> String {
    match ShellCall::from_argv(argv) {
        Some(call) if call.shell == ShellKind::Power => call.script.to_owned(),
        Some(call)
            if call.shell == ShellKind::Posix
                && (argv.first()).is_some_and(|shell| programs.is_trusted_shell(shell, "-c")) =>
        {
            call.script.to_owned()
        }
        _ => quote_command(argv),
    }
}

/// The actions by the text of a call; `None` if any of its commands is unknown.
fn claimed_actions(argv: &[String]) -> Option<Vec<CommandAction>> {
    match ShellCall::from_argv(argv) {
        Some(ShellCall {
            shell: ShellKind::Posix,
            script,
            ..
        }) => summarise(plain_commands(script)?, script),
        Some(_) => None,
        None => {
            let words = argv.iter().map(|word| ShellWord::literal(word)).collect();
            let command = SimpleCommand {
                words,
                joined: Connector::Next,
            };
            summarise(vec![command], "")
        }
    }
}

/// Summarizes the actions; `None` if any command is unknown.
fn summarise(commands: Vec<SimpleCommand>, script: &str) -> Option<Vec<CommandAction>> {
    let piped_into_sed = commands
        .iter()
        .any(|command| command.joined == Connector::Pipe)
        && commands
            .iter()
            .any(|command| runs_sed_quietly(&command.texts()));
    let mut folder = String::new();
    let mut actions: Vec<CommandAction> = Vec::new();
    for command in without_helpers(commands) {
        let words: Vec<&str> = command
            .words
            .iter()
            .map(|word| word.text.as_str())
            .collect();
        if let Some(target) = changes_folder(&words) {
            folder = join(&folder, target);
            continue;
        }
        let action = below(&folder, classify(&words)?);
        if actions.last() != Some(&action) {
            actions.push(action);
        }
    }
    // A file printed with `sed -n` is a single read. Only the whole script shows which lines are printed.
    if piped_into_sed && let [CommandAction::Read { command, .. }] = actions.as_mut_slice() {
        script.clone_into(command);
    }
    Some(actions)
}

/// Removes commands that only format output: pipeline filters, `true`, and an `echo` of a heading.
fn without_helpers(commands: Vec<SimpleCommand>) -> Vec<SimpleCommand> {
    if commands.len() < 2 {
        return commands;
    }
    let mut kept: Vec<SimpleCommand> = commands
        .into_iter()
        .filter(|command| !only_shapes_output(&command.texts(), command.joined == Connector::Pipe))
        .collect();
    let is = |command: &SimpleCommand, name: &str| {
        command.words.first().is_some_and(|word| word.text == name)
    };
    while let Some(at) = kept.iter().position(|command| !is(command, "cd"))
        && at + 1 < kept.len()
        && is(&kept[at], "echo")
    {
        kept.remove(at);
    }
    kept
}

fn below(folder: &str, action: CommandAction) -> CommandAction {
    match action {
        CommandAction::Read {
            command,
            name,
            path,
        } => {
            let path = join(folder, &path);
            CommandAction::Read {
                command,
                name,
                path,
            }
        }
        other => other,
    }
}

fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with(['/', '~']) {
        path.to_owned()
    } else if path.is_empty() {
        folder.to_owned()
    } else {
        format!("{}/{path}", folder.trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests;
