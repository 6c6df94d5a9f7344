//! The commands that a call may start, for rules that forbid or ask.
//!
//! Looks through shells, substitutions, functions and programs that start others. What cannot be told from the text
//! is reported as such. Use it to forbid or to ask, never to allow.

use std::collections::HashSet;

use crate::launchers::{Launcher, launcher};
use crate::script::{Script, read_script};

/// How deep scripts within scripts are followed.
const MAX_DEPTH: usize = 8;
/// Bytes of scripts and words that are looked at in all. Wrappers of wrappers would take quadratic time.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Programs for which an argument is only text.
const TAKE_TEXT: [&str; 9] = [
    "echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "git", "test",
];

/// What a call may start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reachable {
    pub commands: Vec<ReachableCommand>,
    /// Whether that is all, as far as the text of the call tells: no program name, script or alias is computed.
    pub complete: bool,
    /// Whether the search was given up because the call is nested too deeply or takes too long to read.
    pub gave_up: bool,
    /// Arguments of more than one word, which the program that gets them may take for commands: code, or an option
    /// that names a program.
    pub texts: Vec<String>,
    /// The arguments of programs that may take them for a command. What is not known is an empty word.
    pub arguments: Vec<Vec<String>>,
}

/// A command, up to the first word that is not known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReachableCommand {
    pub words: Vec<String>,
    /// Unknown words follow.
    pub open_ended: bool,
}

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Token {
    Fixed(String),
    /// Computed by the shell or taken from input: any words, or none.
    Unknown,
}

impl Token {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Fixed(text) => Some(text),
            Self::Unknown => None,
        }
    }
}

/// What is still to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Lead {
    Script(String),
    Command(Vec<Token>),
}

impl Lead {
    /// About how many bytes it takes.
    fn size(&self) -> usize {
        let word = |token: &Token| size_of::<Token>() + token.text().map_or(0, str::len);
        match self {
            Self::Script(script) => script.len(),
            Self::Command(tokens) => tokens.iter().map(word).sum(),
        }
    }
}

/// Everything that the call may start.
pub fn reachable_commands(argv: &[String]) -> Reachable {
    let mut search = Search {
        found: Reachable {
            complete: true,
            ..Reachable::default()
        },
        seen: HashSet::new(),
        ahead: Vec::new(),
        bytes_left: MAX_BYTES,
    };
    let tokens = argv.iter().cloned().map(Token::Fixed).collect();
    search.follow(Lead::Command(tokens), 0);
    while let Some((lead, depth)) = search.ahead.pop() {
        if depth > MAX_DEPTH || search.bytes_left == 0 {
            search.found.complete = false;
            search.found.gave_up = true;
            break;
        }
        match lead {
            Lead::Script(script) => search.script(&script, depth),
            Lead::Command(tokens) => search.command(&tokens, depth),
        }
    }
    search.found
}

struct Search {
    found: Reachable,
    seen: HashSet<Lead>,
    ahead: Vec<(Lead, usize)>,
    bytes_left: usize,
}

impl Search {
    fn follow(&mut self, lead: Lead, depth: usize) {
        self.bytes_left = self.bytes_left.saturating_sub(lead.size());
        if self.seen.insert(lead.clone()) {
            self.ahead.push((lead, depth));
        }
    }

    fn script(&mut self, script: &str, depth: usize) {
        let joined = script.contains("\\\n").then(|| script.replace("\\\n", ""));
        for text in [Some(script), joined.as_deref()].into_iter().flatten() {
            let Script { commands, complete } = read_script(text);
            self.found.complete &= complete;
            for command in commands {
                self.follow(Lead::Command(command), depth);
            }
        }
    }

    fn command(&mut self, tokens: &[Token], depth: usize) {
        let Some((program, arguments)) = tokens.split_first() else {
            return;
        };
        let Token::Fixed(program) = program else {
            self.found.complete = false;
            if !arguments.is_empty() {
                self.follow(Lead::Command(arguments.to_vec()), depth);
            }
            return;
        };
        self.record(tokens);
        let name = crate::call::base_name(program);
        // zsh takes `=name` for the path of that program.
        if let Some(name) = program.strip_prefix('=') {
            self.rename(name, arguments, depth);
        }
        if let Some(subcommand) = name.strip_prefix("git-") {
            let renamed = [Token::Fixed(subcommand.to_owned())];
            self.rename("git", &[&renamed, arguments].concat(), depth);
        }
        if !TAKE_TEXT.contains(&name) {
            let is_word = |c: char| c.is_alphanumeric() || "_-./".contains(c);
            let texts = arguments.iter().filter_map(Token::text);
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
        let Launcher { leads, complete } = launcher(name, arguments);
        self.found.complete &= complete;
        for lead in leads {
            let deeper = usize::from(matches!(lead, Lead::Script(_)));
            self.follow(lead, depth + deeper);
        }
    }

    fn rename(&mut self, program: &str, arguments: &[Token], depth: usize) {
        let program = [Token::Fixed(program.to_owned())];
        self.follow(Lead::Command([&program, arguments].concat()), depth);
    }

    fn record(&mut self, tokens: &[Token]) {
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
