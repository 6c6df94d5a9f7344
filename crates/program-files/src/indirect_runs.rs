//! Commands that run what other commands list, find, print or compute.

use crate::code_variables::places_code;
use crate::interpreters::{is_interpreter, is_shell, runs_arguments, runs_input, takes_code};
use crate::known_programs::{
    LISTERS, PACKAGE_MANAGERS, PACKAGE_RUNNERS, RUNNERS, WRAPPERS, WRITERS, base_name,
};
use crate::line::{ARGUMENT, CommandWords, DECLARE, KnownValues, UNKNOWN_CHAR, read_line};

/// The limit on the words of a command that may begin another one.
const MAX_INNER: usize = 64;

/// Whether a command runs the files that another one lists.
pub(crate) fn runs_listed_files(CommandWords(words): &CommandWords) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    match base_name(program) {
        "xargs" | "parallel" => arguments.iter().any(|word| runs_a_file(word)),
        name => is_shell(name) && runs_its_input(&CommandWords(words.clone())),
    }
}

/// Whether a command runs a file whose name it computes. An argument of a script or of a function is no such name: it stands
/// elsewhere.
pub(crate) fn runs_computed_name(command: &CommandWords) -> bool {
    runs(command, &|word| base_name(word).contains(UNKNOWN_CHAR))
}

/// Whether a command runs something that may lie anywhere, or text that is not known.
pub(crate) fn runs_unknown_command(command: &CommandWords) -> bool {
    runs_such_a_word(&command.0, UNKNOWN_CHAR)
}

/// Whether a command, or one that it begins, runs a word that begins with a sign for what is not known.
fn runs_such_a_word(words: &[String], sign: char) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    if !begins_another(base_name(program)) {
        return runs_directly(words, sign);
    }
    let first = arguments.iter().position(|word| !is_setting(word));
    let may_begin = |at: usize| {
        let name = base_name(&arguments[at]);
        let is_program = begins_another(name)
            || is_interpreter(name)
            || DECLARE.contains(&name)
            || ["eval", "find", "git", "trap"].contains(&name);
        Some(at) == first || (is_program && ![".", "source"].contains(&name))
    };
    let inner: Vec<usize> = (0..arguments.len()).filter(|at| may_begin(*at)).collect();
    runs_directly(words, sign)
        || inner.len() > MAX_INNER
        || inner
            .into_iter()
            .any(|at| runs_directly(&arguments[at..], sign))
}

/// Whether a program begins another one, which its arguments name.
fn begins_another(name: &str) -> bool {
    WRAPPERS.contains(&name) || RUNNERS.contains(&name)
}

/// The same for a command by itself.
fn runs_directly(words: &[String], sign: char) -> bool {
    let is_unknown = |word: &str| word.starts_with(sign);
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let name = base_name(program);
    let follows = |is_option: &dyn Fn(&str) -> bool| {
        let mut pairs = arguments.windows(2);
        pairs.any(|pair| is_option(&pair[0]) && is_unknown(&pair[1]))
    };
    let is_program_option = |option: &str| {
        let option = option.split_once('=').map_or(option, |(option, _)| option);
        runs_value(name, option, arguments)
    };
    let joined = arguments.iter().filter(|word| is_program_option(word));
    let mut joined = joined.filter_map(|word| word.split_once('='));
    if follows(&is_program_option) || joined.any(|(_, value)| is_unknown(value)) {
        return true;
    }
    let mut operands = arguments.iter().filter(|word| !is_setting(word));
    match name {
        // Any variable may be set.
        _ if DECLARE.contains(&name) || ["eval", "trap"].contains(&name) => {
            arguments.iter().any(|word| is_unknown(word))
        }
        "alias" => (arguments.iter().filter_map(|word| word.split_once('=')))
            .any(|(_, text)| is_unknown(text)),
        "for" | "mapfile" | "printf" | "read" | "readarray" | "select" => {
            let mut set = set_by(name, arguments);
            set.any(|name| is_unknown(name) || places_code(name))
        }
        "git" => arguments
            .windows(2)
            .any(|pair| pair[0] == "-c" && sets_unknown(&pair[1])),
        "fd" | "find" => follows(&runs_found),
        "parallel" => operands
            .next()
            .is_none_or(|first| is_unknown(first) || first == "{}"),
        _ if is_package_runner(name) => {
            let is_request = |word: &str| ["exec", "run", "x"].contains(&word);
            let mut pairs = arguments.windows(2);
            pairs.any(|pair| is_request(&pair[0]) && is_unknown(&pair[1]))
        }
        "busybox" | "chronic" | "coproc" | "dbus-run-session" | "fakeroot" | "xvfb-run"
        | "hyperfine" | "ltrace" | "setpriv" | "strace" | "systemd-run" | "unshare" | "watch" => {
            operands.next().is_some_and(|it| is_unknown(it))
        }
        "chroot" | "chrt" | "flock" | "taskset" => operands.take(2).any(|it| is_unknown(it)),
        _ if PACKAGE_RUNNERS.contains(&name) => operands.next().is_some_and(|it| is_unknown(it)),
        _ if is_interpreter(name) && (follows(&takes_code) || has_code(arguments, sign)) => true,
        _ => runs(&CommandWords(words.to_vec()), &is_unknown),
    }
}

/// Whether an option has code joined to it that is not known.
fn has_code(arguments: &[String], sign: char) -> bool {
    let mut options = arguments.iter().filter_map(|word| word.split_once('='));
    options.any(|(option, code)| takes_code(option) && code.starts_with(sign))
}

/// Whether a program runs another one of an environment that it manages.
fn is_package_runner(name: &str) -> bool {
    const PROGRAMS: [&str; 8] = [
        "bundle", "conda", "hatch", "pdm", "pipenv", "pipx", "poetry", "uv",
    ];
    PROGRAMS.contains(&name) || PACKAGE_MANAGERS.contains(&name)
}

/// The variables that a command sets to what it reads, prints or goes through.
fn set_by<'w>(name: &str, arguments: &'w [String]) -> impl Iterator<Item = &'w str> {
    let (from, count) = match name {
        "for" | "select" => (0, 1),
        "printf" if arguments.first().is_some_and(|option| option == "-v") => (1, 1),
        "printf" => (0, 0),
        _ => (0, usize::MAX),
    };
    let words = (from..arguments.len()).take(count);
    // What is printed before reading is no name.
    let names = words.filter(move |at| {
        let before = at.checked_sub(1).map_or("", |at| arguments[at].as_str());
        let is_prompt = before.starts_with('-') && before.ends_with('p');
        !is_prompt && !arguments[*at].starts_with('-')
    });
    names.map(|at| arguments[at].as_str())
}

/// Whether a program runs the value of an option.
fn runs_value(name: &str, option: &str, arguments: &[String]) -> bool {
    match name {
        "flock" | "runuser" | "script" | "su" => ["--command", "-c"].contains(&option),
        "git" => {
            const OPTIONS: [(&str, &str); 4] = [
                ("bisect", "run"),
                ("difftool", "-x"),
                ("rebase", "-x"),
                ("submodule", "foreach"),
            ];
            let is_of = |command: &str| arguments.iter().any(|word| word == command);
            { OPTIONS.iter() }.any(|(command, name)| *name == option && is_of(command))
                || ["--exec", "--exec-path", "--extcmd"].contains(&option)
                || option.ends_with("-filter")
        }
        "gdb" => option == "--args",
        "man" => ["--pager", "-P"].contains(&option),
        "rsync" => ["--rsh", "--rsync-path", "-e"].contains(&option),
        "sort" => option == "--compress-program",
        "tar" => [
            "--info-script",
            "--rmt-command",
            "--rsh-command",
            "--to-command",
            "--use-compress-program",
            "-F",
            "-I",
        ]
        .contains(&option),
        _ => false,
    }
}

/// Whether a word before the program that another one begins is for that one.
fn is_setting(word: &str) -> bool {
    let is_number = word.starts_with(|letter: char| letter.is_ascii_digit());
    word.starts_with('-') || word.contains('=') || is_number
}

/// Whether a setting of git has a value that is not known, and may name a program.
fn sets_unknown(setting: &str) -> bool {
    const HARMLESS_COMMANDS: [&str; 11] = [
        "advice.",
        "author.",
        "color.",
        "commit.gpgsign",
        "committer.",
        "core.autocrlf",
        "core.quotepath",
        "http.",
        "init.",
        "safe.",
        "user.",
    ];
    let name = setting.to_lowercase();
    setting.contains(UNKNOWN_CHAR)
        && !HARMLESS_COMMANDS
            .iter()
            .any(|harmless| name.starts_with(harmless))
}

/// Whether the program of a command, or what an interpreter gets, is such a word.
fn runs(CommandWords(words): &CommandWords, is_computed: &dyn Fn(&str) -> bool) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    // `case $x in`
    if arguments.first().is_some_and(|word| word == "in") {
        return false;
    }
    let name = base_name(program);
    if WRAPPERS.contains(&name) {
        let inner = arguments
            .iter()
            .skip_while(|word| is_setting(word))
            .cloned();
        return runs(&CommandWords(inner.collect()), is_computed);
    }
    if !is_interpreter(name) {
        return is_computed(program);
    }
    let only_checks = ["--check", "-c", "-l", "-m", "-n"];
    let mut options = arguments.iter().take_while(|word| word.starts_with('-'));
    let operand = arguments.iter().find(|word| !word.starts_with('-'));
    !options.any(|option| only_checks.contains(&option.as_str()))
        && operand.is_some_and(|operand| is_computed(operand))
}

/// What functions of a script run that run their arguments: the arguments of each of their calls.
pub(crate) fn run_by_functions(commands: &[CommandWords]) -> Vec<CommandWords> {
    let program = |command: &CommandWords| command.0.first().cloned().unwrap_or_default();
    if !commands
        .iter()
        .any(|command| program(command).starts_with(ARGUMENT))
    {
        return Vec::new();
    }
    // The beginning of a function looks like a call without arguments.
    let is_function = |name: &String| {
        commands
            .iter()
            .any(|it| it.0.len() == 1 && it.0[0] == *name)
    };
    let calls = commands
        .iter()
        .filter(|command| is_function(&program(command)));
    calls
        .filter(|command| command.0.len() > 1)
        .map(|command| CommandWords(command.0[1..].to_vec()))
        .collect()
}

/// What functions of a script run of their arguments, where they do not only print them.
pub(crate) fn run_by_own_functions(
    text: &str,
    commands: &[CommandWords],
    known: &KnownValues<'_>,
) -> Vec<CommandWords> {
    let mut functions: Vec<(&str, String)> = Vec::new();
    for part in text.split_inclusive(['\n', ';']) {
        match function_at(part) {
            Some((name, body)) => functions.push((name, body.to_owned())),
            None => functions
                .iter_mut()
                .rev()
                .take(1)
                .for_each(|(_, body)| body.push_str(part)),
        }
    }
    let mut run = Vec::new();
    for (name, body) in functions {
        let inner = read_line(&body, known).commands;
        if !inner
            .iter()
            .any(|command| runs_such_a_word(&command.0, ARGUMENT))
        {
            continue;
        }
        // The first arguments may be taken off before.
        let is_shift = |command: &CommandWords| command.0.first().is_some_and(|it| it == "shift");
        let most = 1 + usize::from(inner.iter().any(is_shift));
        let calls = commands.iter().filter(|command| command.0[0] == name);
        let starts = calls.flat_map(|call| (1..call.0.len()).take(most).map(move |at| (call, at)));
        run.extend(starts.map(|(call, at)| CommandWords(call.0[at..].to_vec())));
    }
    run
}

/// The name of a function that begins here, and its first words.
fn function_at(part: &str) -> Option<(&str, &str)> {
    let part = part.trim_start();
    let named = part.strip_prefix("function ").map(str::trim_start);
    let rest = named.unwrap_or(part);
    let is_name = |c: char| c.is_alphanumeric() || "_-.:".contains(c);
    let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    let body = rest.trim_start().strip_prefix('(');
    let body = body.and_then(|rest| rest.trim_start().strip_prefix(')'));
    let body = body.or(named.map(|_| rest))?;
    (!name.is_empty()).then_some((name, body))
}

/// Whether a script takes its arguments from what is not known, and runs them.
pub(crate) fn replaces_its_arguments(commands: &[CommandWords]) -> bool {
    let sets = |command: &CommandWords| {
        let is_set = command.0.first().is_some_and(|program| program == "set");
        is_set && command.0.iter().any(|word| word.contains(UNKNOWN_CHAR))
    };
    commands.iter().any(sets)
        && commands
            .iter()
            .any(|it| runs(it, &|word| word.starts_with(ARGUMENT)))
}

/// Whether a command runs files whose names it reads.
pub(crate) fn runs_names_from_input(CommandWords(words): &CommandWords) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    if !["parallel", "xargs"].contains(&base_name(program)) {
        return false;
    }
    let at = arguments
        .iter()
        .position(|word| is_interpreter(base_name(word)));
    at.is_some_and(|at| {
        let rest = &arguments[at + 1..];
        let only_checks = rest
            .iter()
            .any(|option| ["--check", "-n"].contains(&option.as_str()));
        !only_checks
            && rest
                .iter()
                .all(|word| word.starts_with('-') || word == "{}")
    })
}

/// Whether the names that a command prints are known, or it prints none.
pub(crate) fn names_what_it_lists(CommandWords(words): &CommandWords) -> bool {
    const FILTERS: [&str; 6] = ["awk", "grep", "head", "sort", "tail", "uniq"];
    let name = words.first().map_or("", |program| base_name(program));
    LISTERS.contains(&name)
        || WRITERS.contains(&name)
        || FILTERS.contains(&name)
        || ["", "cd", "parallel", "xargs"].contains(&name)
}

/// Whether a command of git lists files of the workspace.
pub(crate) fn lists_files(arguments: &[String]) -> bool {
    let mut words = arguments.iter().map(String::as_str);
    words.any(|word| ["ls-files", "--name-only", "--porcelain"].contains(&word))
}

/// Whether `find` runs the files that it finds.
pub(crate) fn executes_found_files(arguments: &[String]) -> bool {
    let mut pairs = arguments.windows(2);
    pairs.any(|pair| runs_found(&pair[0]) && runs_a_file(&pair[1]))
}

/// Whether a program for what is found follows an option.
fn runs_found(option: &str) -> bool {
    const ACTIONS: [&str; 8] = [
        "--exec",
        "--exec-batch",
        "-X",
        "-exec",
        "-execdir",
        "-ok",
        "-okdir",
        "-x",
    ];
    ACTIONS.contains(&option)
}

/// Whether a word in the place of a program is a file that is found, or runs one.
fn runs_a_file(word: &str) -> bool {
    let name = base_name(word);
    word.contains("{}") || runs_arguments(name)
}

/// Whether a command runs what it reads.
pub(crate) fn runs_its_input(CommandWords(words): &CommandWords) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let takes_none = |arguments: &[String]| {
        const INPUTS: [&str; 5] = ["-", "-s", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
        arguments.iter().any(|word| INPUTS.contains(&word.as_str()))
            || arguments
                .iter()
                .all(|argument| argument.starts_with('-') && argument != "-c" && argument != "-e")
    };
    match base_name(program) {
        "xargs" | "parallel" | "source" | "." | "eval" => true,
        name if runs_input(name) => true,
        name if is_interpreter(name) => takes_none(arguments),
        name if WRAPPERS.contains(&name) || RUNNERS.contains(&name) => arguments
            .iter()
            .position(|argument| is_interpreter(base_name(argument)))
            .is_some_and(|at| takes_none(&arguments[at + 1..])),
        _ => false,
    }
}

/// Whether git is among the words of a command.
pub(crate) fn runs_git(CommandWords(words): &CommandWords) -> bool {
    words.iter().any(|word| base_name(word) == "git")
}
