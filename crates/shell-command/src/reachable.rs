//! Finds all commands that a call may start, for rules that forbid or ask.
//!
//! The search follows shells, substitutions, functions and programs that start others. It also reports whether the text
//! of the call leaves anything open. Its result may be used to forbid or to ask, but never to allow.

use std::collections::HashSet;

use crate::command_words::{CommandWord, LaunchTarget};
use crate::launch_targets::{LaunchTargets, launch_targets};
use crate::script::{ScriptCommands, read_script};

/// Limit on the depth of nested scripts.
const MAX_DEPTH: usize = 8;
/// Limit on the total size of the scripts and words that are analyzed, because nested wrappers take quadratic time.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Programs that never execute an argument.
const TAKE_TEXT: [&str; 9] = [
    "echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "git", "test",
];

/// The commands that a call may start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReachableCommands {
    pub commands: Vec<ReachableCommand>,
    /// Whether the list is complete: no program name, script or alias is computed at run time.
    pub complete: bool,
    /// Whether the search ended at a limit on depth or size.
    pub gave_up: bool,
    /// Arguments that are more than a plain word, which a program may execute: code, or an option that names a
    /// program.
    pub texts: Vec<String>,
    /// The argument lists of programs that may execute them. Unknown words are empty.
    pub arguments: Vec<Vec<String>>,
}

/// A command up to its first unknown word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReachableCommand {
    pub words: Vec<String>,
    /// Unknown words follow.
    pub open_ended: bool,
}

/// Finds the commands that a call may start.
pub fn reachable_commands(argv: &[String]) -> ReachableCommands {
    let mut search = ReachabilitySearch {
        found: ReachableCommands {
            complete: true,
            ..ReachableCommands::default()
        },
        seen: HashSet::new(),
        pending: Vec::new(),
        bytes_left: MAX_BYTES,
    };
    let tokens = argv.iter().cloned().map(CommandWord::Fixed).collect();
    search.enqueue(LaunchTarget::Command(tokens), 0);
    while let Some((target, depth)) = search.pending.pop() {
        if depth > MAX_DEPTH || search.bytes_left == 0 {
            search.found.complete = false;
            search.found.gave_up = true;
            break;
        }
        match target {
            LaunchTarget::Script(script) => search.script(&script, depth),
            LaunchTarget::Command(tokens) => search.command(&tokens, depth),
        }
    }
    search.found
}

struct ReachabilitySearch {
    found: ReachableCommands,
    seen: HashSet<LaunchTarget>,
    pending: Vec<(LaunchTarget, usize)>,
    bytes_left: usize,
}

impl ReachabilitySearch {
    fn enqueue(&mut self, target: LaunchTarget, depth: usize) {
        self.bytes_left = self.bytes_left.saturating_sub(target.size());
        if self.seen.insert(target.clone()) {
            self.pending.push((target, depth));
        }
    }

    fn script(&mut self, script: &str, depth: usize) {
        let joined = script.contains("\\\n").then(|| script.replace("\\\n", ""));
        for text in [Some(script), joined.as_deref()].into_iter().flatten() {
            let ScriptCommands { commands, complete } = read_script(text);
            self.found.complete &= complete;
            for command in commands {
                self.enqueue(LaunchTarget::Command(command), depth);
            }
        }
    }

    fn command(&mut self, tokens: &[CommandWord], depth: usize) {
        let Some((program, arguments)) = tokens.split_first() else {
            return;
        };
        let CommandWord::Fixed(program) = program else {
            self.found.complete = false;
            if !arguments.is_empty() {
                self.enqueue(LaunchTarget::Command(arguments.to_vec()), depth);
            }
            return;
        };
        self.record(tokens);
        let name = crate::call::base_name(program);
        // In zsh, `=name` stands for the path of the program.
        if let Some(name) = program.strip_prefix('=') {
            self.rename(name, arguments, depth);
        }
        if let Some(subcommand) = name.strip_prefix("git-") {
            let renamed = [CommandWord::Fixed(subcommand.to_owned())];
            self.rename("git", &[&renamed, arguments].concat(), depth);
        }
        if !TAKE_TEXT.contains(&name) {
            let is_word = |c: char| c.is_alphanumeric() || "_-./".contains(c);
            let texts = arguments.iter().filter_map(CommandWord::text);
            let texts = texts.filter(|text| !text.chars().all(is_word));
            self.found.texts.extend(texts.map(ToOwned::to_owned));
            if arguments.len() > 1 {
                let words = arguments
                    .iter()
                    .map(|token| token.text().unwrap_or_default());
                let words = words.map(ToOwned::to_owned).collect();
                self.found.arguments.push(words);
            }
        }
        let LaunchTargets { targets, complete } = launch_targets(name, arguments);
        self.found.complete &= complete;
        for target in targets {
            let deeper = usize::from(matches!(target, LaunchTarget::Script(_)));
            self.enqueue(target, depth + deeper);
        }
    }

    fn rename(&mut self, program: &str, arguments: &[CommandWord], depth: usize) {
        let program = [CommandWord::Fixed(program.to_owned())];
        self.enqueue(LaunchTarget::Command([&program, arguments].concat()), depth);
    }

    fn record(&mut self, tokens: &[CommandWord]) {
        let words: Vec<String> = (tokens.iter())
            .map_while(|token| token.text().map(ToOwned::to_owned))
            .collect();
        self.found.commands.push(ReachableCommand {
            open_ended: words.len() < tokens.len(),
            words,
        });
    }
}

#[cfg(test)]
#[path = "reachable_tests.rs"]
mod tests;
