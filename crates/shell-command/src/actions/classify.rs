//! Classifies one simple command.
//!
//! Only programs that can be known to only read are here. Whether a command does so is decided elsewhere.

use super::CommandAction;
use super::operands::{OptionSyntax, ParsedArguments, short_path};
use crate::call::base_name;
use crate::quote::quote_command;
use crate::safe::is_print_range;

/// The action of a command; `None` if the command is unknown.
pub(super) fn classify(words: &[&str]) -> Option<CommandAction> {
    let [program, arguments @ ..] = words else {
        return None;
    };
    let name = if program.starts_with('/') {
        base_name(program)
    } else {
        program
    };
    let kind = match name {
        "cat" => read_one(&OptionSyntax::NONE, arguments),
        "head" | "tail" => read_end(arguments),
        "nl" => read_one(&NL, arguments),
        "sed" => read_with_sed(arguments),
        "ls" => list(&LS, arguments),
        "rg" => ripgrep(arguments),
        "grep" => search(&GREP, arguments),
        "find" => Some(find(arguments)),
        _ => None,
    }?;
    let command = quote_command(words);
    Some(match kind {
        ActionKind::Read(path) => CommandAction::Read {
            command,
            name: short_path(path),
            path: path.to_owned(),
        },
        ActionKind::List(path) => CommandAction::ListFiles {
            command,
            path: path.map(short_path),
        },
        ActionKind::Search(query, path) => CommandAction::Search {
            command,
            query: query.map(ToOwned::to_owned),
            path: path.map(short_path),
        },
    })
}

enum ActionKind<'a> {
    Read(&'a str),
    List(Option<&'a str>),
    Search(Option<&'a str>, Option<&'a str>),
}

const NL: OptionSyntax =
    OptionSyntax::with_value(&["-b", "-d", "-f", "-h", "-i", "-l", "-n", "-s", "-v", "-w"]);
const LS: OptionSyntax = OptionSyntax::with_value(&[
    "-I",
    "-w",
    "-T",
    "--ignore",
    "--width",
    "--block-size",
    "--sort",
    "--time",
]);
const RIPGREP: OptionSyntax = OptionSyntax {
    with_value: &[
        "-A",
        "-B",
        "-C",
        "-E",
        "-M",
        "-T",
        "-d",
        "-f",
        "-g",
        "-j",
        "-m",
        "-r",
        "-t",
        "--after-context",
        "--before-context",
        "--color",
        "--colors",
        "--context",
        "--encoding",
        "--engine",
        "--file",
        "--glob",
        "--iglob",
        "--ignore-file",
        "--max-columns",
        "--max-count",
        "--max-depth",
        "--max-filesize",
        "--replace",
        "--sort",
        "--sortr",
        "--threads",
        "--type",
        "--type-add",
        "--type-not",
    ],
    pattern: &["-e", "--regexp"],
};
const GREP: OptionSyntax = OptionSyntax {
    with_value: &[
        "-A",
        "-B",
        "-C",
        "-D",
        "-d",
        "-m",
        "--after-context",
        "--before-context",
        "--binary-files",
        "--context",
        "--directories",
        "--exclude",
        "--exclude-dir",
        "--exclude-from",
        "--include",
        "--label",
        "--max-count",
    ],
    pattern: &["-e", "-f", "--file", "--regexp"],
};
/// A program that prints a single file.
fn read_one<'a>(options: &OptionSyntax, arguments: &[&'a str]) -> Option<ActionKind<'a>> {
    match options.read(arguments).operands.as_slice() {
        [file] => Some(ActionKind::Read(file)),
        _ => None,
    }
}

/// `head` and `tail`: a single file, with at most a line or byte count.
fn read_end<'a>(arguments: &[&'a str]) -> Option<ActionKind<'a>> {
    let file = match arguments {
        [file] => file,
        ["-n" | "-c", count, file] if is_count(count) => file,
        [option, file] if option.strip_prefix('-').is_some_and(is_joined_count) => file,
        _ => return None,
    };
    (!file.starts_with('-')).then_some(ActionKind::Read(file))
}

fn is_joined_count(option: &str) -> bool {
    is_count(option.strip_prefix(['n', 'c']).unwrap_or(option))
}

fn is_count(word: &str) -> bool {
    let digits = word.strip_prefix('+').unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `sed -n RANGEp FILE`.
fn read_with_sed<'a>(arguments: &[&'a str]) -> Option<ActionKind<'a>> {
    match arguments {
        ["-n", range, file] if is_print_range(range) && !file.starts_with('-') => {
            Some(ActionKind::Read(file))
        }
        _ => None,
    }
}

fn list<'a>(options: &OptionSyntax, arguments: &[&'a str]) -> Option<ActionKind<'a>> {
    Some(ActionKind::List(
        options.read(arguments).operands.first().copied(),
    ))
}

fn search<'a>(options: &OptionSyntax, arguments: &[&'a str]) -> Option<ActionKind<'a>> {
    let ParsedArguments {
        pattern, operands, ..
    } = options.read(arguments);
    let mut operands = operands.into_iter();
    let query = pattern.or_else(|| operands.next());
    Some(ActionKind::Search(query, operands.next()))
}

fn ripgrep<'a>(arguments: &[&'a str]) -> Option<ActionKind<'a>> {
    if RIPGREP.read(arguments).options.contains(&"--files") {
        list(&RIPGREP, arguments)
    } else {
        search(&RIPGREP, arguments)
    }
}

/// `find`: paths first, then tests.
fn find<'a>(arguments: &[&'a str]) -> ActionKind<'a> {
    let is_setting = |word: &&&str| matches!(**word, "-H" | "-L" | "-P");
    let is_place = |word: &&&str| !word.starts_with(['-', '(', '!']);
    let place = arguments
        .iter()
        .skip_while(is_setting)
        .take_while(is_place)
        .next()
        .copied();
    let is_test = |word: &str| {
        matches!(
            word,
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-regex" | "-iregex"
        )
    };
    let pattern = arguments
        .windows(2)
        .find(|pair| is_test(pair[0]))
        .map(|pair| pair[1]);
    match pattern {
        Some(pattern) => ActionKind::Search(Some(pattern), place),
        None => ActionKind::List(place),
    }
}

/// The target of a `cd` command; the last operand counts.
pub(super) fn changes_folder<'a>(words: &[&'a str]) -> Option<&'a str> {
    match words {
        ["cd", arguments @ ..] => Some(
            OptionSyntax::NONE
                .read(arguments)
                .operands
                .last()
                .copied()
                .unwrap_or_default(),
        ),
        _ => None,
    }
}

/// Whether the command only formats the output of others. Most do so only when they read from a pipe.
pub(super) fn only_shapes_output<S: AsRef<str>>(words: &[S], piped: bool) -> bool {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    let [program, arguments @ ..] = words.as_slice() else {
        return false;
    };
    match *program {
        "true" => true,
        "nl" => NL.read(arguments).operands.is_empty(),
        _ if !piped => false,
        "wc" | "tr" | "cut" | "uniq" => true,
        "head" | "tail" => {
            read_end(arguments).is_none() && !arguments.iter().any(|word| is_file(word))
        }
        "sed" => read_with_sed(arguments).is_none(),
        _ => false,
    }
}

fn is_file(word: &str) -> bool {
    !word.starts_with('-') && !is_count(word)
}

/// Whether the command is `sed -n`.
pub(super) fn runs_sed_quietly<S: AsRef<str>>(words: &[S]) -> bool {
    let mut words = words.iter().map(AsRef::as_ref);
    words.next() == Some("sed") && words.any(|word| word == "-n")
}
