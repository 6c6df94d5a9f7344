//! Interpreters: which programs run a file or code that an argument names, and in which language.

use std::path::Path;

use crate::known_programs::{WRAPPERS, base_name, has_code_ending};

/// Programs that run a file which an argument names, and whose code is in no language below.
const INTERPRETERS: [&str; 26] = [
    ".",
    "Rscript",
    "awk",
    "elixir",
    "elvish",
    "escript",
    "expect",
    "gawk",
    "groovy",
    "guile",
    "java",
    "julia",
    "mawk",
    "nawk",
    "nu",
    "osascript",
    "powershell",
    "pwsh",
    "racket",
    "raku",
    "source",
    "swipl",
    "tclsh",
    "wish",
    "xonsh",
    "zx",
];

/// Programs that run what they read if no argument names a file.
const INPUT_RUNNERS: [&str; 18] = [
    "at", "batch", "bc", "dc", "ed", "emacs", "erl", "ex", "gdb", "ghci", "gnuplot", "irb", "lldb",
    "m4", "octave", "sqlite3", "vi", "vim",
];

/// Languages of code, as far as they differ in how they run other code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Language {
    Python,
    JavaScript,
    Perl,
    Ruby,
    Php,
    Lua,
    Shell,
    Code,
    Other,
}

impl Language {
    /// The language that a program runs, if it is an interpreter of one.
    pub(crate) fn of_program(name: &str) -> Option<Self> {
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        Some(match plain {
            "python" | "pythonw" | "pypy" | "ipython" => Self::Python,
            "node" | "nodejs" | "bun" | "deno" | "tsx" | "ts-node" | "jiti" | "esno"
            | "babel-node" | "coffee" => Self::JavaScript,
            "perl" => Self::Perl,
            "ruby" | "jruby" => Self::Ruby,
            "php" | "php-cgi" => Self::Php,
            "lua" | "luajit" | "texlua" => Self::Lua,
            "ash" | "bash" | "csh" | "dash" | "fish" | "ksh" | "mksh" | "rbash" | "sh" | "tcsh"
            | "yash" | "zsh" => Self::Shell,
            _ => return None,
        })
    }

    /// The language of a file.
    pub(crate) fn of_file(path: &Path, text: &str) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        match ending {
            "py" | "pyw" => return Self::Python,
            "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "jsx" | "tsx" => return Self::JavaScript,
            "pl" | "pm" => return Self::Perl,
            "rb" => return Self::Ruby,
            "php" => return Self::Php,
            "lua" => return Self::Lua,
            "sh" | "bash" | "zsh" | "ksh" | "fish" | "mk" => return Self::Shell,
            _ => {}
        }
        let first = text.lines().next().unwrap_or_default();
        let program = first.strip_prefix("#!").map(|line| {
            let words = line.split_whitespace().map(base_name);
            let mut words = words.skip_while(|word| *word == "env" || word.starts_with('-'));
            words.next().unwrap_or_default()
        });
        match program {
            Some(program) => Self::of_program(program).unwrap_or(Self::Code),
            None if has_code_ending(&name) || name == "package.json" => Self::Code,
            None if [
                "Makefile",
                "makefile",
                "GNUmakefile",
                "Justfile",
                "justfile",
                ".justfile",
                ".env",
                ".envrc",
            ]
            .contains(&&*name) =>
            {
                Self::Shell
            }
            None => Self::Other,
        }
    }

    /// What may follow the path of a module: endings, and the first file of a folder.
    pub(crate) fn module_endings(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["", ".py", "/__main__.py", "/__init__.py"],
            Self::JavaScript => &[
                "",
                ".js",
                ".cjs",
                ".mjs",
                ".ts",
                ".mts",
                ".cts",
                ".tsx",
                ".json",
                ".node",
                "/package.json",
                "/index.js",
                "/index.cjs",
                "/index.mjs",
                "/index.ts",
                "/index.json",
                "/index.node",
            ],
            Self::Perl => &["", ".pm", ".pl"],
            Self::Ruby => &["", ".rb", ".so"],
            Self::Php => &["", ".php", "/index.php", "/php.ini"],
            Self::Lua => &["", ".lua", "/init.lua"],
            Self::Shell | Self::Code | Self::Other => &[""],
        }
    }
}

pub(crate) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&name) || Language::of_program(name).is_some()
}

/// Whether a program runs lines of a shell.
pub(crate) fn is_shell(program: &str) -> bool {
    Language::of_program(base_name(program)) == Some(Language::Shell)
}

/// What a program reads in the home folder, folders with code and files with settings.
pub(crate) fn home_files(name: &str) -> &'static [&'static str] {
    if name == "git" {
        return &[".gitconfig", ".config/git/config", ".ssh"];
    }
    if matches!(name, "rsync" | "scp" | "sftp" | "ssh") {
        return &[".ssh"];
    }
    match Language::of_program(name) {
        Some(Language::Python) => &[".local/lib"],
        Some(Language::JavaScript) => &[".node_modules", ".node_libraries"],
        _ => &[],
    }
}

/// What a shell reads in the home folder if it is interactive or for a login.
pub(crate) const STARTUP_FILES: [&str; 10] = [
    ".bash_login",
    ".bash_profile",
    ".bashrc",
    ".config/fish/config.fish",
    ".kshrc",
    ".profile",
    ".zlogin",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// Whether an option makes a shell read these files.
pub(crate) fn reads_startup_files(option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => matches!(long, "login" | "interactive"),
        None => option
            .strip_prefix('-')
            .is_some_and(|flags| flags.contains(['i', 'l'])),
    }
}

/// Whether a program runs what its arguments name.
pub(crate) fn runs_arguments(name: &str) -> bool {
    is_interpreter(name) || WRAPPERS.contains(&name)
}

/// Whether a program that is no interpreter runs what it reads.
pub(crate) fn runs_input(name: &str) -> bool {
    INPUT_RUNNERS.contains(&name)
}

/// The code in the arguments of an interpreter: what follows an option for it, and what can be no path.
pub(crate) fn code_arguments(arguments: &[String]) -> impl Iterator<Item = &str> {
    let is_code =
        |word: &str| word.contains(|c: char| c.is_whitespace() || "()'\"`;{}<>$".contains(c));
    let follows_option = |index: usize| {
        let option = index
            .checked_sub(1)
            .and_then(|before| arguments.get(before));
        option.is_some_and(|option| takes_code(option))
    };
    let all = arguments.iter().enumerate();
    let code = all.filter(move |(index, word)| is_code(word) || follows_option(*index));
    code.map(|(_, word)| word.as_str())
}

/// Whether code follows an option.
pub(crate) fn takes_code(option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(name) => matches!(name, "eval" | "print"),
        None => {
            option.strip_prefix('-').is_some_and(|flags| {
                flags.len() <= 5 && flags.ends_with(['c', 'e', 'E', 'p', 'r', 'B', 'R'])
            }) || option == "eval"
        }
    }
}

/// The folder with modules that an option names.
pub(crate) fn module_folder<'a>(
    language: Option<Language>,
    option: &'a str,
    next: Option<&'a String>,
) -> Option<&'a str> {
    let names: &[&str] = match language {
        Some(Language::Perl) => &["-I", "-Mlib=", "-mlib="],
        Some(Language::Ruby) => &["-I"],
        Some(_) => return None,
        None => &["-cp", "-classpath", "--class-path", "--module-path", "-L"],
    };
    let name = names.iter().find(|name| option.starts_with(**name))?;
    let joined = option[name.len()..].trim_start_matches('=');
    match joined {
        "" => next.map(String::as_str),
        joined => Some(joined),
    }
}
