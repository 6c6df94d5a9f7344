//! What a command does, said so that a person can see it at a glance. For display only: nothing is decided by it.
//!
//! A script is cut into its simple commands, helpers that only shape output are left out, and every other command is
//! classified. One that is not understood makes the whole script unknown: a summary must not hide anything.

mod classify;
mod operands;

use crate::bash::{Joined, Simple, plain_commands};
use crate::call::{Shell, ShellCall};
use crate::quote::quote_command;
use crate::word::Word;
use classify::{changes_folder, classify, only_shapes_output, runs_sed_quietly};

/// What one command of a call does. `command` is that command in shell syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandAction {
    Read {
        command: String,
        /// The file's name for display.
        name: String,
        /// The file as written, below the folders of the `cd`s before it.
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

/// The actions of a call. Empty when it only changes folders.
pub fn command_actions(argv: &[String]) -> Vec<CommandAction> {
    match ShellCall::of(argv) {
        Some(ShellCall {
            shell: Shell::Posix,
            script,
            ..
        }) => plain_commands(script)
            .and_then(|commands| summarise(commands, script))
            .unwrap_or_else(|| unknown(script.to_owned())),
        Some(ShellCall {
            shell: Shell::Power,
            script,
            ..
        }) => unknown(script.to_owned()),
        Some(ShellCall {
            shell: Shell::Cmd, ..
        })
        | None => {
            let words = argv.iter().map(|word| Word::literal(word)).collect();
            let command = Simple {
                words,
                joined: Joined::Next,
            };
            summarise(vec![command], "").unwrap_or_else(|| unknown(quote_command(argv)))
        }
    }
}

fn unknown(command: String) -> Vec<CommandAction> {
    vec![CommandAction::Unknown { command }]
}

/// `None` if any command is unknown.
fn summarise(commands: Vec<Simple>, script: &str) -> Option<Vec<CommandAction>> {
    let piped_into_sed = commands
        .iter()
        .any(|command| command.joined == Joined::Pipe)
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
    // A file read through `sed -n` is one reading: which lines it prints stands in the whole script only.
    if piped_into_sed && let [CommandAction::Read { command, .. }] = actions.as_mut_slice() {
        script.clone_into(command);
    }
    Some(actions)
}

/// Leaves out what only shapes the output of others: pipeline filters, `true`, and an `echo` that announces the rest.
fn without_helpers(commands: Vec<Simple>) -> Vec<Simple> {
    if commands.len() < 2 {
        return commands;
    }
    let mut kept: Vec<Simple> = commands
        .into_iter()
        .filter(|command| !only_shapes_output(&command.texts(), command.joined == Joined::Pipe))
        .collect();
    let is =
        |command: &Simple, name: &str| command.words.first().is_some_and(|word| word.text == name);
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
