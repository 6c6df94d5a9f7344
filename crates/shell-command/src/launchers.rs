//! Programs that start others: what they start, as far as their arguments tell.

use crate::git_options::{GitCall, read_git_call};
use crate::reachable::{Lead, Token};

/// So many places are tried for the beginning of the other command.
const MAX_STARTS: usize = 32;

/// Programs whose arguments are, or have in them, the command of another one.
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

/// Programs of which one command starts another program, and the words that such a command follows.
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
const RUNS: [&str; 11] = [
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

/// The program that loads others, as it is called on Linux.
const LOADERS: [&str; 4] = ["ld-linux", "ld-musl", "ld.so", "ld64.so"];

/// Programs and builtins after which a name may mean something else, or that read commands from elsewhere.
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

/// Commands of git that run a command from their arguments.
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

/// What a program starts.
#[derive(Debug)]
pub(crate) struct Launcher {
    pub(crate) leads: Vec<Lead>,
    pub(crate) complete: bool,
}

/// Whether setting a variable of this name changes what the commands after it run.
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

/// What the program of this name starts with these arguments.
pub(crate) fn launcher(name: &str, arguments: &[Token]) -> Launcher {
    let mut launcher = Launcher {
        leads: Vec::new(),
        complete: true,
    };
    match name {
        name if SHELLS.contains(&name) => launcher.shell(arguments),
        "eval" => launcher.eval(arguments),
        "trap" => launcher.scripts(arguments),
        "find" | "fd" | "fdfind" => launcher.find(arguments),
        "git" => launcher.git(arguments),
        "xargs" | "parallel" => launcher.xargs(arguments),
        name if WRAPPERS.contains(&name) => launcher.wrapper(arguments),
        name if RUNNERS.contains(&name) => launcher.runner(arguments),
        name if LOADERS.iter().any(|start| name.starts_with(start)) => {
            launcher.wrapper(arguments);
        }
        name if OPAQUE.contains(&name) => launcher.complete = arguments.is_empty(),
        _ => {}
    }
    launcher
}

impl Launcher {
    fn shell(&mut self, arguments: &[Token]) {
        let is_flag = |token: &&Token| {
            token
                .text()
                .is_some_and(|text| text.starts_with(['-', '+']))
        };
        let long = |token: &&Token| token.text().is_some_and(|text| text.starts_with("--"));
        if !arguments.is_empty()
            && arguments
                .iter()
                .all(|token| matches!(token.text(), Some("--version" | "--help")))
        {
            return;
        }
        let has_script = (arguments.iter().filter(is_flag).filter(|flag| !long(flag)))
            .any(|flag| flag.text().is_some_and(|text| text.contains('c')));
        let operands = arguments.iter().filter(|token| !is_flag(token));
        let reads_file = arguments
            .iter()
            .any(|token| matches!(token.text(), Some("--rcfile" | "--init-file")));
        let first_is_known = operands
            .clone()
            .next()
            .is_some_and(|token| token.text().is_some());
        self.complete &= has_script && first_is_known && !reads_file;
        // Which operand is the script depends on the options before it.
        let scripts = operands.filter_map(Token::text);
        self.leads
            .extend(scripts.map(|script| Lead::Script(script.to_owned())));
    }

    fn eval(&mut self, arguments: &[Token]) {
        self.complete &= arguments.iter().all(|token| token.text().is_some());
        let words: Vec<&str> = arguments
            .iter()
            .map(|token| token.text().unwrap_or("\"$unknown\""))
            .collect();
        self.leads.push(Lead::Script(words.join(" ")));
    }

    fn scripts(&mut self, arguments: &[Token]) {
        self.complete &= arguments.iter().all(|token| token.text().is_some());
        let scripts = arguments
            .iter()
            .filter_map(Token::text)
            .filter(|text| !text.starts_with('-'));
        self.leads
            .extend(scripts.map(|script| Lead::Script(script.to_owned())));
    }

    /// Where the other command begins depends on the options: any place will do.
    fn wrapper(&mut self, arguments: &[Token]) {
        for (start, token) in arguments.iter().enumerate().take(MAX_STARTS) {
            let Token::Fixed(word) = token else {
                self.complete = false;
                continue;
            };
            let assigned = word.split_once('=').map(|(name, _)| name);
            self.complete &= !assigned.is_some_and(changes_what_runs);
            // A command in one word, perhaps joined to its option.
            if word.contains(char::is_whitespace) || word.starts_with('-') && word.contains('$') {
                let value = word
                    .strip_prefix("-S")
                    .or_else(|| word.split_once('=').map(|(_, value)| value));
                let value = value.filter(|_| word.starts_with('-')).unwrap_or(word);
                self.leads.push(Lead::Script(value.to_owned()));
            }
            if !word.starts_with('-') {
                self.leads.push(Lead::Command(arguments[start..].to_vec()));
            }
        }
        self.complete &= arguments.len() <= MAX_STARTS;
    }

    fn runner(&mut self, arguments: &[Token]) {
        let runs = |token: &Token| token.text().is_some_and(|text| RUNS.contains(&text));
        if let Some(place) = arguments.iter().position(runs) {
            let command = &arguments[place + 1..];
            let complete = command.first().is_none_or(|first| first.text().is_some());
            self.wrapper(command);
            // What is computed further on is for the program that is started.
            self.complete = complete;
        }
    }

    /// What is read from the input follows the words or takes the place of one.
    fn xargs(&mut self, arguments: &[Token]) {
        let texts = arguments.iter().map(Token::text);
        let replaced = texts
            .clone()
            .zip(texts.skip(1))
            .find_map(|(option, next)| match option? {
                "-I" | "-J" | "--replace" => next,
                _ => None,
            });
        let joined = arguments.iter().filter_map(Token::text).find_map(|word| {
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
        let mut arguments: Vec<Token> = (arguments.iter())
            .map(|token| match token {
                Token::Fixed(text) if is_replaced(text) && Some(text.as_str()) != replaced => {
                    Token::Unknown
                }
                token => token.clone(),
            })
            .collect();
        let starts_with_unknown = (arguments.iter())
            .find(|token| {
                token
                    .text()
                    .is_none_or(|text| !text.starts_with('-') && Some(text) != replaced)
            })
            .is_some_and(|token| token.text().is_none());
        let complete = self.complete && !starts_with_unknown;
        arguments.push(Token::Unknown);
        self.wrapper(&arguments);
        self.complete = complete;
    }

    fn find(&mut self, arguments: &[Token]) {
        const RUNS: [&str; 8] = [
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-x",
            "-X",
            "--exec",
            "--exec-batch",
        ];
        let runs = |token: &Token| token.text().is_some_and(|text| RUNS.contains(&text));
        for start in (0..arguments.len()).filter(|index| runs(&arguments[*index])) {
            let command = arguments[start + 1..].iter();
            let command = command.take_while(|token| !matches!(token.text(), Some(";" | "+")));
            let command = command.map(|token| match token.text() {
                Some(text) if text.contains("{}") => Token::Unknown,
                _ => token.clone(),
            });
            self.leads.push(Lead::Command(command.collect()));
        }
        // A computed word may be `-exec`.
        self.complete &= arguments.iter().all(|token| token.text().is_some());
    }

    fn git(&mut self, arguments: &[Token]) {
        let GitCall { subcommand, plain } = read_git_call(arguments);
        let git =
            |rest: &[Token]| Lead::Command([&[Token::Fixed("git".to_owned())], rest].concat());
        if subcommand.len() < arguments.len() {
            self.leads.push(git(subcommand));
        }
        // An alias may make any command of it.
        if !plain && *arguments != [Token::Unknown] {
            self.leads.push(git(&[Token::Unknown]));
        }
        let runs = subcommand
            .first()
            .and_then(Token::text)
            .is_some_and(|name| GIT_RUNS.contains(&name));
        if runs {
            self.wrapper(&subcommand[1..]);
        }
    }
}
