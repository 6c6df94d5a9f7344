//! Commands in a folder that is not known before: whether they run what lies there.

use crate::indirect_runs::runs_its_input;
use crate::interpreters::{code_arguments, is_interpreter};
use crate::known_programs::{READERS, RUN_FOLDERS, RUNNERS, WRAPPERS, base_name, without_version};
use crate::line::{CommandWords, UNKNOWNS};
use crate::recipe_runners::recipe_request;
use crate::tool_settings::has_settings;

/// The commands of git that read the settings of a repository, and run nothing that these name.
const PLAIN_GIT: [&str; 8] = [
    "--version",
    "branch",
    "check-ref-format",
    "config",
    "remote",
    "rev-parse",
    "symbolic-ref",
    "version",
];

/// The change of the folder in commands, if it is not known and others run what lies there.
pub(crate) fn unknown_folder_of(commands: &[CommandWords]) -> Option<UnknownFolder> {
    let change = change_to_unknown_folder(commands)?;
    let reads_file = || commands.iter().any(reads_relative_file);
    let runs = |command: &CommandWords| {
        let is_input = || is_interpreter_of_input(command) && reads_file();
        runs_from_folder(&command.0) || is_input()
    };
    commands.iter().any(runs).then_some(change)
}

/// The change of the folder in commands, if it is not known.
pub(crate) fn change_to_unknown_folder(commands: &[CommandWords]) -> Option<UnknownFolder> {
    let unknown = UnknownWords::in_commands(commands);
    let moves = |may_be_unset| {
        let mut commands = commands.iter();
        commands.find(|command| unknown.moves(&command.0, may_be_unset))
    };
    let command = moves(false).or_else(|| moves(true))?;
    Some(UnknownFolder {
        shown: command.0.join(" "),
        is_set_elsewhere: !unknown.moves(&command.0, false),
    })
}

/// Whether a command changes to a folder, or begins another one there.
pub(crate) fn changes_folder(command: &CommandWords) -> bool {
    UnknownWords::any().moves(&command.0, false)
}

/// A change to a folder that is not known.
#[derive(Debug)]
pub(crate) struct UnknownFolder {
    pub(crate) shown: String,
    /// Whether a variable says it that only the caller of a script may have set.
    pub(crate) is_set_elsewhere: bool,
}

/// What words that are not known have in them.
struct UnknownWords(Vec<String>);

impl UnknownWords {
    /// Those of all commands, and what `xargs` replaces.
    fn in_commands(commands: &[CommandWords]) -> Self {
        let mut marks: Vec<String> = UNKNOWNS.iter().map(char::to_string).collect();
        marks.push("{}".to_owned());
        for CommandWords(words) in commands {
            let pairs = words
                .iter()
                .zip(words.iter().skip(1).map(Some).chain([None]));
            for (word, next) in pairs {
                let joined = word
                    .strip_prefix("-I")
                    .or_else(|| word.strip_prefix("--replace="));
                let mark = match joined {
                    Some("") => next.map(String::as_str),
                    joined => joined,
                };
                marks.extend(mark.filter(|mark| !mark.is_empty()).map(str::to_owned));
            }
        }
        Self(marks)
    }

    /// Every word counts.
    fn any() -> Self {
        Self(vec![String::new()])
    }

    fn is_in(&self, word: &str) -> bool {
        self.0.iter().any(|mark| word.contains(mark.as_str()))
    }

    /// Whether a command changes to a folder that is not known before, or begins another one there.
    fn moves(&self, words: &[String], may_be_unset: bool) -> bool {
        let Some((program, arguments)) = words.split_first() else {
            return false;
        };
        let is_unknown = |word: &String| self.is_in(word) || (may_be_unset && word.is_empty());
        let name = base_name(program);
        match name {
            "cd" | "chdir" | "pushd" => arguments.iter().any(is_unknown),
            "builtin" | "command" => self.moves(arguments, may_be_unset),
            "find" | "fd" => ["-execdir", "-okdir"]
                .iter()
                .any(|option| arguments.iter().any(|word| word == option)),
            "git" => {
                let each = ["foreach", "for-each-repo"];
                arguments.iter().any(|word| each.contains(&word.as_str()))
                    || self.names_folder(arguments)
            }
            _ if is_wrapper(name) || recipe_request(name, &[]).is_some() => {
                self.names_folder(arguments)
            }
            _ => false,
        }
    }

    /// Whether an option names a folder that is not known.
    fn names_folder(&self, arguments: &[String]) -> bool {
        const OPTIONS: [&str; 7] = [
            "--chdir",
            "--cwd",
            "--directory",
            "--project",
            "--working-directory",
            "-C",
            "-D",
        ];
        arguments.iter().enumerate().any(|(index, word)| {
            let next = arguments.get(index + 1).map_or("", String::as_str);
            OPTIONS.iter().any(|option| {
                let value = word.strip_prefix(option).map(|joined| match joined {
                    "" => next,
                    joined => joined,
                });
                value.is_some_and(|value| self.is_in(value))
            })
        })
    }
}

fn is_wrapper(name: &str) -> bool {
    WRAPPERS.contains(&name) || RUNNERS.contains(&name)
}

/// Whether the words of a command run what lies in the working folder, or name it from there.
fn runs_from_folder(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let name = without_version(base_name(program));
    if is_wrapper(name) && (0..arguments.len()).any(|from| runs_from_folder(&arguments[from..])) {
        return true;
    }
    let operand = arguments.iter().find(|word| !word.starts_with('-'));
    let has_files = has_settings(name)
        || RUN_FOLDERS.iter().any(|(runner, _)| *runner == name)
        || recipe_request(name, &[]).is_some();
    if name == "git" || has_files {
        let is_plain =
            name == "git" && operand.is_some_and(|command| PLAIN_GIT.contains(&command.as_str()));
        return !is_plain && !has_absolute_folder(arguments);
    }
    if is_interpreter(name) {
        let mut code = code_arguments(arguments).peekable();
        if code.peek().is_some() {
            return code.any(|code| code.contains("./"));
        }
        let takes_module = arguments.iter().any(|word| word == "-m");
        return takes_module || operand.is_some_and(|operand| is_relative(operand));
    }
    program.contains('/') && is_relative(program)
}

fn is_relative(word: &str) -> bool {
    !word.starts_with(['/', '~']) && !word.starts_with(UNKNOWNS)
}

/// Whether an option names the folder from the root on, wherever the command begins.
fn has_absolute_folder(arguments: &[String]) -> bool {
    let mut pairs = arguments.windows(2);
    pairs.any(|pair| ["-C", "--directory"].contains(&pair[0].as_str()) && pair[1].starts_with('/'))
}

/// Whether a command only reads a file of the working folder.
fn reads_relative_file(CommandWords(words): &CommandWords) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let mut operands = arguments.iter().filter(|word| !word.starts_with('-'));
    READERS.contains(&base_name(program)) && operands.any(|word| is_relative(word))
}

fn is_interpreter_of_input(command: &CommandWords) -> bool {
    let name = command.0.first().map_or("", |program| base_name(program));
    is_interpreter(name) && runs_its_input(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, is_reported: bool) {
        let commands = line.split("; ").map(|command| {
            let words = command.split(' ').map(|word| word.replace('?', "\0"));
            CommandWords(words.collect())
        });
        let found = unknown_folder_of(&commands.collect::<Vec<_>>());
        assert_eq!(found.is_some(), is_reported, "{line}");
    }

    #[test]
    fn files_of_an_unknown_folder_are_unknown() {
        for line in [
            "cd ?; make",
            "command cd -P ?; make",
            "xargs -I% env -C % make",
            "xargs -I @@ sh -c; cd @@; make",
            "xargs -I% make -C %",
            "pushd ?/x; npm run lint",
            "cd ?; ./run.sh",
            "cd ?; tools/run",
            "cd ?; sh run.sh",
            "cd ?; node -e require('./x')",
            "cd ?; timeout 5 python3 x.py",
            "cd ?; python3 -m x",
            "cd ?; . env.sh",
            "cd ?; npx eslint --fix src",
            "cd ?; git status",
            "cd ?; env A=1 make -s",
            "cd ?; cat list; sh",
            "env -C ? make",
            "env --chdir=? make",
            "sudo -D ? make",
            "git -C ? status",
            "find . -execdir make {}",
            "xargs -I{} env -C {} make",
            "git submodule foreach make",
        ] {
            check(line, true);
        }
        for line in [
            "cd ?",
            "cd sub; make",
            "cd ?; ls; cat x; grep y z",
            "cd ?; /usr/bin/env true",
            "cd ?; jq -r .x",
            "cd ?; ruff check",
            "cd ?; git rev-parse HEAD; git branch --show-current",
            "cd ?; make -C /opt/x",
            "cd ?; python3 -c pass",
            "cd ?; sh /opt/x.sh",
            "env -C ? ls",
        ] {
            check(line, false);
        }
    }
}
