//! Classifies one simple command.

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
        "cat" | "more" => read_one(&OptionSyntax::NONE, arguments),
        "less" => read_one(&LESS, arguments),
        "bat" | "batcat" => read_one(&BAT, arguments),
        "head" | "tail" => read_end(arguments),
        "nl" => read_one(&NL, arguments),
        "sed" => read_with_sed(arguments),
        "awk" => read_with_awk(arguments),
        "ls" | "eza" | "exa" => list(&LS, arguments),
        "tree" => list(&TREE, arguments),
        "du" => list(&DU, arguments),
        "rg" | "rga" => ripgrep(arguments),
        "grep" | "egrep" | "fgrep" => search(&GREP, arguments),
        "ag" | "ack" | "pt" => search(&AG, arguments),
        "git" => git(arguments),
        "fd" => fd(arguments),
        "find" => find(arguments),
        _ if name.starts_with("python") => python(arguments),
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

const LESS: OptionSyntax = OptionSyntax::with_value(&["-p", "-j", "-x", "-T", "-t"]);
const BAT: OptionSyntax = OptionSyntax::with_value(&[
    "-r",
    "-l",
    "-H",
    "--theme",
    "--language",
    "--style",
    "--line-range",
    "--tabs",
    "--terminal-width",
    "--highlight-line",
    "--color",
    "--decorations",
    "--paging",
    "--map-syntax",
]);
const NL: OptionSyntax =
    OptionSyntax::with_value(&["-b", "-d", "-f", "-h", "-i", "-l", "-n", "-s", "-v", "-w"]);
const LS: OptionSyntax = OptionSyntax::with_value(&[
    "-I",
    "-w",
    "-T",
    "-L",
    "--ignore",
    "--width",
    "--block-size",
    "--sort",
    "--time",
    "--level",
]);
const TREE: OptionSyntax =
    OptionSyntax::with_value(&["-L", "-P", "-I", "-o", "--filelimit", "--charset", "--sort"]);
const DU: OptionSyntax = OptionSyntax::with_value(&[
    "-d",
    "-t",
    "-B",
    "-X",
    "--max-depth",
    "--exclude",
    "--threshold",
]);
const AWK: OptionSyntax = OptionSyntax {
    with_value: &["-F", "-v", "--field-separator", "--assign"],
    pattern: &["-f", "--file"],
};
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
const AG: OptionSyntax = OptionSyntax {
    with_value: &[
        "-A",
        "-B",
        "-C",
        "-G",
        "-m",
        "-p",
        "--after",
        "--before",
        "--context",
        "--depth",
        "--file-search-regex",
        "--ignore",
        "--ignore-dir",
        "--max-count",
    ],
    pattern: &["--match"],
};
const LS_FILES: OptionSyntax =
    OptionSyntax::with_value(&["-x", "-X", "--exclude", "--exclude-from"]);
const FD: OptionSyntax = OptionSyntax::with_value(&[
    "-E",
    "-S",
    "-c",
    "-d",
    "-e",
    "-j",
    "-o",
    "-t",
    "--base-directory",
    "--changed-before",
    "--changed-within",
    "--color",
    "--exclude",
    "--extension",
    "--max-depth",
    "--max-results",
    "--min-depth",
    "--owner",
    "--size",
    "--threads",
    "--type",
]);

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

/// `sed -n RANGEp FILE`, optionally with `-e` and `--`.
fn read_with_sed<'a>(arguments: &[&'a str]) -> Option<ActionKind<'a>> {
    let quiet = arguments.contains(&"-n");
    let rest: Vec<&str> = arguments
        .iter()
        .copied()
        .filter(|word| !matches!(*word, "-n" | "-e" | "--"))
        .collect();
    match rest.as_slice() {
        [range, file] if quiet && is_print_range(range) && !file.starts_with('-') => {
            Some(ActionKind::Read(file))
        }
        _ => None,
    }
}

fn read_with_awk<'a>(arguments: &[&'a str]) -> Option<ActionKind<'a>> {
    let ParsedArguments {
        pattern, operands, ..
    } = AWK.read(arguments);
    match (pattern, operands.as_slice()) {
        (None, [_, file]) | (Some(_), [file]) => Some(ActionKind::Read(file)),
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

fn git<'a>(arguments: &[&'a str]) -> Option<ActionKind<'a>> {
    match arguments {
        ["grep", rest @ ..] => search(&GREP, rest),
        ["ls-files", rest @ ..] => list(&LS_FILES, rest),
        _ => None,
    }
}

fn fd<'a>(arguments: &[&'a str]) -> Option<ActionKind<'a>> {
    let ParsedArguments {
        options, operands, ..
    } = FD.read(arguments);
    if options
        .iter()
        .any(|option| matches!(*option, "-x" | "-X" | "--exec" | "--exec-batch"))
    {
        return None;
    }
    match operands.as_slice() {
        [] => Some(ActionKind::List(None)),
        [pattern, rest @ ..] => Some(ActionKind::Search(Some(pattern), rest.first().copied())),
    }
}

/// `find`: paths first, then tests. With an action on the results it is not only a search.
fn find<'a>(arguments: &[&'a str]) -> Option<ActionKind<'a>> {
    let acts = |word: &&str| {
        matches!(
            *word,
            "-delete" | "-exec" | "-execdir" | "-ok" | "-okdir" | "-fls"
        ) || word.starts_with("-fprint")
    };
    if arguments.iter().any(acts) {
        return None;
    }
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
    Some(match pattern {
        Some(pattern) => ActionKind::Search(Some(pattern), place),
        None => ActionKind::List(place),
    })
}

/// A one-line program that lists folders and shows no sign of changes.
fn python<'a>(arguments: &[&'a str]) -> Option<ActionKind<'a>> {
    const WALKS: [&str; 8] = [
        "os.walk",
        "os.listdir",
        "os.scandir",
        "glob.glob",
        "glob.iglob",
        ".glob(",
        ".rglob(",
        ".iterdir(",
    ];
    const CHANGES: [&str; 9] = [
        "write",
        "open(",
        "remove",
        "unlink",
        "rename",
        "rmtree",
        "mkdir",
        "system(",
        "subprocess",
    ];
    let code = match arguments {
        ["-c", code, ..] => code,
        _ => return None,
    };
    let has = |signs: &[&str]| signs.iter().any(|sign| code.contains(sign));
    (has(&WALKS) && !has(&CHANGES)).then_some(ActionKind::List(None))
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
        "wc" | "tr" | "cut" | "sort" | "uniq" | "tee" | "column" | "yes" | "printf" => true,
        "head" | "tail" => {
            read_end(arguments).is_none() && !arguments.iter().any(|word| is_file(word))
        }
        "awk" => read_with_awk(arguments).is_none(),
        "sed" => read_with_sed(arguments).is_none() && !edits_in_place(arguments),
        "xargs" => xargs_only_reads(arguments),
        _ => false,
    }
}

fn is_file(word: &str) -> bool {
    !word.starts_with('-') && !is_count(word)
}

fn edits_in_place(arguments: &[&str]) -> bool {
    arguments
        .iter()
        .any(|word| word.starts_with("-i") || word.starts_with("--in-place"))
}

/// Whether `xargs` starts a program that only reads.
fn xargs_only_reads(arguments: &[&str]) -> bool {
    const XARGS: OptionSyntax =
        OptionSyntax::with_value(&["-n", "-I", "-L", "-P", "-d", "-s", "-E"]);
    match XARGS.read(arguments).operands.as_slice() {
        [] => true,
        [program, ..] => match *program {
            "cat" | "echo" | "egrep" | "fgrep" | "file" | "grep" | "head" | "ls" | "nl" | "rg"
            | "stat" | "tail" | "wc" => true,
            "sed" => !edits_in_place(arguments),
            _ => false,
        },
    }
}

/// Whether the command is `sed -n`.
pub(super) fn runs_sed_quietly<S: AsRef<str>>(words: &[S]) -> bool {
    let mut words = words.iter().map(AsRef::as_ref);
    words.next() == Some("sed") && words.any(|word| word == "-n")
}
