//! Determines from its arguments what a program starts.

use crate::command_words::{CommandWord, LaunchTarget};
use crate::git_options::{GitCall, read_git_call};

/// Limit on the positions at which the started command is assumed to begin.
const MAX_STARTS: usize = 32;

/// Programs whose arguments contain a command to start.
const WRAPPERS: [&str; 105] = [
    "-",
    "builtin",
    "busybox",
    "catchsegv",
    "cgexec",
    "chpst",
    "chroot",
    "chrt",
    "command",
    "coproc",
    "dbus-run-session",
    "doas",
    "eatmydata",
    "env",
    "exec",
    "expect",
    "fakeroot",
    "faketime",
    "firejail",
    "flock",
    "gdb",
    "i386",
    "ionice",
    "linux32",
    "linux64",
    "ltrace",
    "nice",
    "nocorrect",
    "noglob",
    "nohup",
    "nsenter",
    "numactl",
    "parallel",
    "perf",
    "pkexec",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "rlwrap",
    "runcon",
    "runuser",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "setuidgid",
    "sg",
    "softlimit",
    "ssh",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "then",
    "time",
    "timeout",
    "torsocks",
    "toybox",
    "tsocks",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "x86_64",
    "xargs",
    "xvfb-run",
    "!",
    "do",
    "arch",
    "bwrap",
    "caffeinate",
    "capsh",
    "catatonit",
    "choom",
    "cpulimit",
    "dumb-init",
    "fakechroot",
    "gosu",
    "host-spawn",
    "hyperfine",
    "ksu",
    "run0",
    "sandbox-exec",
    "sem",
    "su-exec",
    "systemd-cat",
    "systemd-inhibit",
    "timelimit",
    "tini",
    "trickle",
    "uclampset",
    "watchexec",
    "winpty",
    "xterm",
    "x-terminal-emulator",
    "gnome-terminal",
    "konsole",
    "alacritty",
    "kitty",
    "dtach",
    "abduco",
];

/// Programs that start another program after one of the words in `RUN_SUBCOMMANDS`.
const RUNNERS: [&str; 33] = [
    "asdf",
    "bundle",
    "bunx",
    "conda",
    "devbox",
    "direnv",
    "distrobox",
    "flatpak",
    "flatpak-spawn",
    "hatch",
    "ip",
    "mamba",
    "micromamba",
    "mise",
    "nix",
    "nix-shell",
    "nodemon",
    "npm",
    "npx",
    "op",
    "pdm",
    "pipenv",
    "pnpm",
    "poetry",
    "pyenv",
    "rbenv",
    "rr",
    "rye",
    "screen",
    "tmux",
    "toolbox",
    "uv",
    "wezterm",
];
const RUN_SUBCOMMANDS: [&str; 11] = [
    "--",
    "--command",
    "--exec",
    "--host",
    "--run",
    "-c",
    "exec",
    "new-session",
    "record",
    "run",
    "start",
];

/// Prefixes of the names of dynamic loaders, which can be called with a program to start.
const LOADERS: [&str; 4] = ["ld-linux", "ld-musl", "ld.so", "ld64.so"];

/// Programs and builtins that change the meaning of names, or read commands from elsewhere.
const OPAQUE: [&str; 19] = [
    ".",
    "alias",
    "at",
    "autoload",
    "batch",
    "bind",
    "complete",
    "crontab",
    "emulate",
    "enable",
    "entr",
    "fc",
    "hash",
    "mapfile",
    "readarray",
    "source",
    "zcompile",
    "zle",
    "zmodload",
];

const SHELLS: [&str; 14] = [
    "ash", "bash", "csh", "dash", "fish", "hush", "ksh", "mksh", "oksh", "rbash", "sh", "tcsh",
    "yash", "zsh",
];

/// Subcommands of git that execute arguments.
const GIT_RUNS: [&str; 8] = [
    "bisect",
    "difftool",
    "filter-branch",
    "for-each-repo",
    "grep",
    "mergetool",
    "rebase",
    "submodule",
];

/// The scripts and commands that a program starts.
#[derive(Debug)]
pub(crate) struct LaunchTargets {
    pub(crate) targets: Vec<LaunchTarget>,
    pub(crate) complete: bool,
}

/// Whether setting this variable changes what later commands start.
pub(crate) fn changes_what_runs(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "BASH_ENV",
        "ENV",
        "FPATH",
        "IFS",
        "PATH",
        "PROMPT_COMMAND",
        "PS4",
        "SHELLOPTS",
        "ZDOTDIR",
        "fpath",
        "path",
    ];
    NAMES.contains(&name)
        || ["GIT_", "LD_", "DYLD_", "BASH_FUNC_", "BASH_ALIASES"]
            .iter()
            .any(|start| name.starts_with(start))
}

/// Determines what a program starts with these arguments.
pub(crate) fn launch_targets(name: &str, arguments: &[CommandWord]) -> LaunchTargets {
    let mut found = LaunchTargets {
        targets: Vec::new(),
        complete: true,
    };
    match name {
        name if SHELLS.contains(&name) => found.shell(arguments),
        "eval" => found.eval(arguments),
        "trap" => found.scripts(arguments),
        "find" | "fd" | "fdfind" => found.find(arguments),
        "git" => found.git(arguments),
        "xargs" | "parallel" => found.xargs(arguments),
        name if WRAPPERS.contains(&name) => found.wrapper(arguments),
        name if RUNNERS.contains(&name) => found.runner(arguments),
        name if LOADERS.iter().any(|start| name.starts_with(start)) => {
            found.wrapper(arguments);
        }
        name if OPAQUE.contains(&name) => found.complete = arguments.is_empty(),
        _ => {}
    }
    found
}

impl LaunchTargets {
    fn shell(&mut self, arguments: &[CommandWord]) {
        let is_flag =
            |word: &&CommandWord| word.text().is_some_and(|text| text.starts_with(['-', '+']));
        let long = |word: &&CommandWord| word.text().is_some_and(|text| text.starts_with("--"));
        if !arguments.is_empty()
            && arguments
                .iter()
                .all(|word| matches!(word.text(), Some("--version" | "--help")))
        {
            return;
        }
        let has_script = (arguments.iter().filter(is_flag).filter(|flag| !long(flag)))
            .any(|flag| flag.text().is_some_and(|text| text.contains('c')));
        let operands = arguments.iter().filter(|word| !is_flag(word));
        let reads_file = arguments
            .iter()
            .any(|word| matches!(word.text(), Some("--rcfile" | "--init-file")));
        let first_is_known = operands
            .clone()
            .next()
            .is_some_and(|word| word.text().is_some());
        self.complete &= has_script && first_is_known && !reads_file;
        // The options decide which operand is the script, so all of them count.
        let scripts = operands.filter_map(CommandWord::text);
        self.targets
            .extend(scripts.map(|script| LaunchTarget::Script(script.to_owned())));
    }

    fn eval(&mut self, arguments: &[CommandWord]) {
        self.complete &= arguments.iter().all(|word| word.text().is_some());
        let words: Vec<&str> = arguments
            .iter()
            .map(|word| word.text().unwrap_or("\"$unknown\""))
            .collect();
        self.targets.push(LaunchTarget::Script(words.join(" ")));
    }

    fn scripts(&mut self, arguments: &[CommandWord]) {
        self.complete &= arguments.iter().all(|word| word.text().is_some());
        let scripts = arguments
            .iter()
            .filter_map(CommandWord::text)
            .filter(|text| !text.starts_with('-'));
        self.targets
            .extend(scripts.map(|script| LaunchTarget::Script(script.to_owned())));
    }

    /// The options decide where the started command begins, so every position counts.
    fn wrapper(&mut self, arguments: &[CommandWord]) {
        for (start, word) in arguments.iter().enumerate().take(MAX_STARTS) {
            let CommandWord::Fixed(word) = word else {
                self.complete = false;
                continue;
            };
            let assigned = word.split_once('=').map(|(name, _)| name);
            self.complete &= !assigned.is_some_and(changes_what_runs);
            // A whole command in one word, possibly joined to its option.
            if word.contains(char::is_whitespace) || word.starts_with('-') && word.contains('$') {
                let value = word
                    .strip_prefix("-S")
                    .or_else(|| word.split_once('=').map(|(_, value)| value));
                let value = value.filter(|_| word.starts_with('-')).unwrap_or(word);
                self.targets.push(LaunchTarget::Script(value.to_owned()));
            }
            if !word.starts_with('-') {
                self.targets
                    .push(LaunchTarget::Command(arguments[start..].to_vec()));
            }
        }
        self.complete &= arguments.len() <= MAX_STARTS;
    }

    fn runner(&mut self, arguments: &[CommandWord]) {
        let runs = |word: &CommandWord| {
            word.text()
                .is_some_and(|text| RUN_SUBCOMMANDS.contains(&text))
        };
        if let Some(place) = arguments.iter().position(runs) {
            let command = &arguments[place + 1..];
            let complete = command.first().is_none_or(|first| first.text().is_some());
            self.wrapper(command);
            // Later unknown words are arguments of the started program.
            self.complete = complete;
        }
    }

    /// The words from the input follow the arguments, or replace a placeholder in them.
    fn xargs(&mut self, arguments: &[CommandWord]) {
        let texts = arguments.iter().map(CommandWord::text);
        let replaced = texts
            .clone()
            .zip(texts.skip(1))
            .find_map(|(option, next)| match option? {
                "-I" | "-J" | "--replace" => next,
                _ => None,
            });
        let joined = arguments
            .iter()
            .filter_map(CommandWord::text)
            .find_map(|word| {
                let value = word.strip_prefix("-I").or_else(|| word.strip_prefix("-i"));
                value
                    .or_else(|| word.strip_prefix("--replace="))
                    .filter(|value| !value.is_empty())
            });
        let marks = [Some("{}"), replaced, joined];
        let is_replaced = |text: &str| {
            marks
                .iter()
                .flatten()
                .any(|mark| text.contains(mark) && !text.starts_with('-'))
        };
        let mut arguments: Vec<CommandWord> = (arguments.iter())
            .map(|word| match word {
                CommandWord::Fixed(text)
                    if is_replaced(text) && Some(text.as_str()) != replaced =>
                {
                    CommandWord::Unknown
                }
                word => word.clone(),
            })
            .collect();
        let starts_with_unknown = (arguments.iter())
            .find(|word| {
                word.text()
                    .is_none_or(|text| !text.starts_with('-') && Some(text) != replaced)
            })
            .is_some_and(|word| word.text().is_none());
        let complete = self.complete && !starts_with_unknown;
        arguments.push(CommandWord::Unknown);
        self.wrapper(&arguments);
        self.complete = complete;
    }

    fn find(&mut self, arguments: &[CommandWord]) {
        const RUN_OPTIONS: [&str; 8] = [
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-x",
            "-X",
            "--exec",
            "--exec-batch",
        ];
        let runs = |word: &CommandWord| word.text().is_some_and(|text| RUN_OPTIONS.contains(&text));
        for start in (0..arguments.len()).filter(|index| runs(&arguments[*index])) {
            let command = arguments[start + 1..]
                .iter()
                .take_while(|word| !matches!(word.text(), Some(";" | "+")))
                .map(|word| match word.text() {
                    Some(text) if text.contains("{}") => CommandWord::Unknown,
                    _ => word.clone(),
                });
            self.targets.push(LaunchTarget::Command(command.collect()));
        }
        // An unknown word may be `-exec`.
        self.complete &= arguments.iter().all(|word| word.text().is_some());
    }

    fn git(&mut self, arguments: &[CommandWord]) {
        let GitCall { subcommand, plain } = read_git_call(arguments);
        let git = |rest: &[CommandWord]| {
            LaunchTarget::Command([&[CommandWord::Fixed("git".to_owned())], rest].concat())
        };
        if subcommand.len() < arguments.len() {
            self.targets.push(git(subcommand));
        }
        // An alias may stand for any command.
        if !plain && *arguments != [CommandWord::Unknown] {
            self.targets.push(git(&[CommandWord::Unknown]));
        }
        let runs = subcommand
            .first()
            .and_then(CommandWord::text)
            .is_some_and(|name| GIT_RUNS.contains(&name));
        if runs {
            self.wrapper(&subcommand[1..]);
        }
    }
}
