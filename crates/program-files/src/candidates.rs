//! The paths that the words of commands may mean.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::code_calls::calls;
use crate::code_variables::places_code;
use crate::interpreters::{
    Language, STARTUP_FILES, code_arguments, home_files, is_interpreter, is_shell, module_folder,
    reads_startup_files, runs_arguments, runs_input,
};
use crate::known_programs::{
    BUILDERS, FOLDER_FILES, LISTERS, OUTPUT_OPTIONS, PACKAGE_BUILDERS, PACKAGE_RUNNERS, READERS,
    RUNNERS, WRAPPERS, WRITERS, WRITTEN, base_name, has_code_ending, is_data, without_version,
};
use crate::line::{CommandWords, UNKNOWN};
use crate::python_start::{PythonStart, removes_variables};

/// A file that a word may mean.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileCandidate {
    /// A program by its name, on the search path.
    Program(String),
    /// A path, relative to one of the folders that the line names.
    Path(String),
    /// Python, which imports from the working folder: the module that it runs, if it runs one.
    Imports(Option<String>),
    /// The packages of JavaScript in the working folder.
    Packages,
    /// A folder whose files are run, whatever their names.
    Folder(String),
    /// A file or folder in the home folder, which counts if it is in the workspace.
    Home(&'static str),
    /// A variable that names places of code, and its value.
    Variable(String, String),
}

/// The paths and names that commands may mean.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) all: Vec<FileCandidate>,
    /// The first word that may name a file to run and is not known.
    pub(crate) unknown: Option<String>,
    /// The languages of the interpreters in the line.
    languages: Vec<Language>,
    /// Whether something is begun without the variables of the engine.
    removes_variables: bool,
}

impl Candidates {
    pub(crate) fn of(commands: &[CommandWords]) -> Self {
        let all = commands;
        let commands: Vec<CommandWords> = all.iter().map(CommandWords::without_inputs).collect();
        let commands = commands.as_slice();
        let programs = commands.iter().flat_map(|command| &command.0);
        let languages = programs.filter_map(|word| Language::of_program(base_name(word)));
        let mut found = Self {
            languages: languages.filter(|it| *it != Language::Shell).collect(),
            removes_variables: commands.iter().any(removes_variables),
            ..Self::default()
        };
        found.languages.sort_unstable();
        found.languages.dedup();
        let reads_input = commands.iter().any(runs_its_input);
        let runs_listed = commands.iter().any(runs_listed_files);
        if commands.iter().any(runs_what_it_reads_about)
            && commands.iter().any(|command| !names_what_it_lists(command))
        {
            found.unknown("the files that xargs reads");
        }
        for command in commands {
            found.command(command, reads_input);
            found.folders_to_run(command, runs_listed);
        }
        for command in all {
            let program = command.without_inputs().0.into_iter().next();
            command
                .inputs()
                .for_each(|input| found.input(program.as_deref(), input, reads_input));
        }
        found.all.sort();
        found.all.dedup();
        found
    }

    /// A file that a command reads, or the text itself.
    fn input(&mut self, program: Option<&str>, input: &str, reads_input: bool) {
        let only_reads = program.is_none_or(|program| READERS.contains(&base_name(program)));
        if only_reads && !reads_input {
            return;
        }
        if reads_input && input.contains(UNKNOWN) {
            return self.unknown(input);
        }
        if reads_input {
            self.program(input);
        }
        self.argument(input);
    }

    fn command(&mut self, CommandWords(words): &CommandWords, reads_input: bool) {
        self.words(words, reads_input);
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        let name = base_name(program);
        if WRITERS.contains(&name) || READERS.contains(&name) {
            return;
        }
        let is_runner = WRAPPERS.contains(&name) || RUNNERS.contains(&name);
        let unknown = self.unknown.clone();
        for from in 0..arguments.len() {
            let may_begin = match base_name(&arguments[from]) {
                "." => false,
                inner => is_runner || is_interpreter(inner),
            };
            if may_begin && is_special(&arguments[from]) {
                self.words(&arguments[from..], reads_input);
            }
        }
        if !is_runner {
            // Such a word may mean something else.
            self.unknown = unknown;
        }
    }

    fn words(&mut self, words: &[String], reads_input: bool) {
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        let name = base_name(program);
        self.program(program);
        self.all
            .extend(home_files(name).iter().copied().map(FileCandidate::Home));
        if is_shell(name) && arguments.iter().any(|option| reads_startup_files(option)) {
            self.all.extend(STARTUP_FILES.map(FileCandidate::Home));
        }
        if name == "jq" {
            self.filter(arguments);
        }
        if !reads_input && (WRITERS.contains(&name) || READERS.contains(&name)) {
            return;
        }
        if reads_input && WRITERS.contains(&name) {
            // It writes what is run.
            arguments.iter().for_each(|argument| self.program(argument));
        }
        let makes_words = matches!(name, "" | "for" | "select") || WRITERS.contains(&name);
        if makes_words {
            // An interpreter may get them as arguments.
            for language in self.languages.clone() {
                self.modules(language, arguments);
            }
        }
        if is_builder(name, arguments) {
            return self.unknown(program);
        }
        if matches!(name, "cd" | "eval" | "pushd")
            && arguments.iter().any(|word| word.contains(UNKNOWN))
        {
            return self.unknown(program);
        }
        if is_interpreter(name) {
            self.interpreter(name, arguments);
        }
        if PACKAGE_BUILDERS.contains(&name) {
            self.built_folders(arguments);
        }
        if name == "git" {
            self.git(arguments);
        }
        for (runner, files) in FOLDER_FILES {
            if runner == without_version(name) {
                let files = files
                    .iter()
                    .map(|file| FileCandidate::Path((*file).to_owned()));
                self.all.extend(files);
            }
        }
        self.variable_words(words);
        let mut is_output = false;
        let mut is_operand_to_run = is_interpreter(name);
        for argument in arguments {
            if std::mem::replace(&mut is_output, OUTPUT_OPTIONS.contains(&argument.as_str())) {
                continue;
            }
            let is_option = argument.starts_with('-') && argument.len() > 1;
            if PACKAGE_RUNNERS.contains(&name) && !is_option {
                self.package(argument);
            }
            if WRAPPERS.contains(&name) && !is_option {
                self.program(argument);
            }
            if is_operand_to_run && !is_option {
                is_operand_to_run = false;
                if argument.contains(UNKNOWN) {
                    self.unknown(argument);
                }
            }
            self.variable(argument);
            self.argument(argument);
        }
    }

    /// A variable that names places of code, in an assignment or an argument.
    fn variable(&mut self, argument: &str) {
        if let Some((_, folder)) = argument.split_once("pycache_prefix=") {
            // Compiled code is taken from there.
            self.all.push(FileCandidate::Folder(folder.to_owned()));
        }
        let Some((before, value)) = argument.split_once('=') else {
            return;
        };
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = before
            .rsplit(|c: char| !is_part(c))
            .next()
            .unwrap_or_default();
        if !places_code(name) {
            return;
        }
        if value.contains(UNKNOWN) {
            return self.unknown(argument);
        }
        self.all
            .push(FileCandidate::Variable(name.to_owned(), value.to_owned()));
    }

    /// An assignment in several words: `export PYTHONPATH := lib` of make, `set -x PYTHONPATH lib` of fish.
    fn variable_words(&mut self, words: &[String]) {
        let Some(at) = words
            .iter()
            .position(|word| places_code(word.trim_start_matches("$env:")))
        else {
            return;
        };
        let sets = at == 0 || matches!(words[0].as_str(), "export" | "override" | "set" | "setenv");
        let is_value =
            |word: &&String| sets && !word.is_empty() && word.chars().any(char::is_alphanumeric);
        for value in words[at + 1..].iter().filter(is_value) {
            let name = words[at].trim_start_matches("$env:");
            self.variable(&format!("{name}={value}"));
        }
    }

    /// The code of `jq`, which decides what is printed.
    fn filter(&mut self, arguments: &[String]) {
        let names_file = |option: &str| match option.strip_prefix('-') {
            Some(long) if long.starts_with('-') => long == "-from-file",
            Some(flags) => flags.contains(['f', 'L']),
            None => false,
        };
        if arguments.iter().any(|word| names_file(word)) {
            let operands = arguments.iter().filter(|word| !word.starts_with('-'));
            operands.for_each(|word| self.argument(word));
        }
    }

    /// The folders of packages that are built and run.
    fn built_folders(&mut self, arguments: &[String]) {
        const OPTIONS: [&str; 8] = [
            "--editable",
            "--from",
            "--package",
            "--spec",
            "--with",
            "--with-editable",
            "-e",
            "-p",
        ];
        const COMMANDS: [&str; 5] = ["add", "install", "pip", "run", "tool"];
        // Their values are where the package runs.
        const PLACES: [&str; 5] = [
            "--cache-dir",
            "--directory",
            "--prefix",
            "--project",
            "--python",
        ];
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let value = word.split_once('=');
            let value = value.filter(|(option, _)| OPTIONS.contains(option));
            let folder = match value {
                Some((_, value)) => Some(value),
                None if OPTIONS.contains(&word.as_str()) => words.next().map(String::as_str),
                None if PLACES.contains(&word.as_str()) => {
                    words.next();
                    None
                }
                None => (!word.starts_with('-')).then_some(word.as_str()),
            };
            let is_path = |folder: &&str| folder.contains('/') || folder.starts_with('.');
            let folder = folder.filter(is_path);
            self.all
                .extend(folder.map(|folder| FileCandidate::Folder(folder.to_owned())));
            // What follows is for the package.
            if !word.starts_with('-') && !COMMANDS.contains(&word.as_str()) {
                return;
            }
        }
    }

    /// Folders with programs that git runs, and other repositories with settings of their own.
    fn git(&mut self, arguments: &[String]) {
        for (index, argument) in arguments.iter().enumerate() {
            if let Some((_, value)) = argument.split_once('=')
                && (argument.contains("hooksPath") || argument.contains("exec-path"))
            {
                self.all.push(FileCandidate::Folder(value.to_owned()));
            }
            let repository = match argument.as_str() {
                "-C" | "--git-dir" | "--work-tree" => arguments.get(index + 1).map(String::as_str),
                joined => joined
                    .strip_prefix("--git-dir=")
                    .or(joined.strip_prefix("--work-tree=")),
            };
            let is_other = |folder: &&str| {
                let name = folder.trim_end_matches('/');
                !name.contains(UNKNOWN) && !["", ".", ".git"].contains(&name)
            };
            if let Some(folder) = repository.filter(is_other) {
                for settings in ["config", ".git", ".git/config"] {
                    self.all
                        .push(FileCandidate::Path(format!("{folder}/{settings}")));
                }
                for hooks in ["hooks", ".git/hooks"] {
                    self.all
                        .push(FileCandidate::Folder(format!("{folder}/{hooks}")));
                }
            }
        }
    }

    /// The folders whose files a command runs, or lists for one that does.
    fn folders_to_run(&mut self, CommandWords(words): &CommandWords, runs_listed: bool) {
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        let name = base_name(program);
        let folders: Vec<&String> = match name {
            "run-parts" => arguments.iter().filter(|it| !it.starts_with('-')).collect(),
            "find" if runs_listed || runs_what_it_finds(arguments) => {
                let is_folder = |word: &&String| !word.starts_with(['-', '(', '!']);
                arguments.iter().take_while(is_folder).collect()
            }
            // Its first operand is a pattern.
            "fd" if runs_what_it_finds(arguments) => {
                let is_folder = |word: &&String| word.contains('/');
                arguments.iter().filter(is_folder).collect()
            }
            _ if runs_listed && LISTERS.contains(&name) => {
                arguments.iter().filter(|it| !it.starts_with('-')).collect()
            }
            _ => return,
        };
        for folder in &folders {
            if folder.contains(UNKNOWN) {
                self.unknown(folder);
            } else {
                self.all.push(FileCandidate::Folder((*folder).clone()));
            }
        }
        if folders.is_empty() {
            self.all.push(FileCandidate::Folder(".".to_owned()));
        }
    }

    /// What an interpreter runs beside the files that its arguments name.
    fn interpreter(&mut self, name: &str, arguments: &[String]) {
        let language = Language::of_program(name);
        if language == Some(Language::JavaScript) {
            self.all.push(FileCandidate::Packages);
        }
        if language == Some(Language::Python) {
            self.python(name, arguments);
        }
        for (index, argument) in arguments.iter().enumerate() {
            if let Some(folder) = module_folder(language, argument, arguments.get(index + 1)) {
                let folders = folder.split(':').filter(|folder| !folder.is_empty());
                let folders = folders.map(|folder| FileCandidate::Folder(folder.to_owned()));
                self.all.extend(folders);
            }
        }
        let language = language.unwrap_or(Language::Other);
        if language != Language::Shell {
            self.modules(language, arguments);
            code_arguments(arguments).for_each(|code| self.code(language, code));
        }
    }

    /// Code in an argument, a module and code on the input import from the working folder.
    fn python(&mut self, name: &str, arguments: &[String]) {
        let start = PythonStart::of(arguments);
        if start.is_isolated {
            return;
        }
        if start.ignores_variables || self.removes_variables {
            return self.unknown(&format!("{name} without its variables"));
        }
        if let Some(module) = &start.module {
            self.module(module);
        }
        if !start.has_script && !start.is_safe {
            self.all.push(FileCandidate::Imports(start.module));
        }
    }

    /// The modules and folders that arguments may mean: with an ending, and joined to an option.
    fn modules(&mut self, language: Language, arguments: &[String]) {
        for argument in arguments.iter().filter(|word| !word.contains(UNKNOWN)) {
            let joined = argument
                .starts_with('-')
                .then(|| argument.get(2..))
                .flatten();
            let value = argument.split_once('=').map(|(_, value)| value);
            let words = [Some(argument.as_str()), joined, value];
            for word in words.into_iter().flatten().filter(|word| !word.is_empty()) {
                let path = word.replace("::", "/");
                for ending in language.module_endings() {
                    self.all
                        .push(FileCandidate::Path(format!("{path}{ending}")));
                }
            }
        }
    }

    /// What code in a line names and runs.
    pub(crate) fn code(&mut self, language: Language, code: &str) {
        let calls = calls(code, language, true);
        // Data counts only if text is run.
        let runs_text = !calls.is_empty();
        // Python finds modules of its own in other folders than the working folder only if code says so.
        let finds_modules = language != Language::Python || code.contains("sys.path");
        let endings = if finds_modules {
            language.module_endings()
        } else {
            &[""]
        };
        for word in code_words(code).filter(|word| runs_text || !is_data(word)) {
            let path = word.replace("::", "/");
            for ending in endings {
                self.all
                    .push(FileCandidate::Path(format!("{path}{ending}")));
            }
        }
        for call in calls {
            if call.is_computed {
                self.unknown(&call.shown);
            }
            for path in call.paths() {
                if call.is_folder {
                    self.all.push(FileCandidate::Folder(path));
                    continue;
                }
                for ending in language.module_endings() {
                    self.all
                        .push(FileCandidate::Path(format!("{path}{ending}")));
                }
            }
        }
        if language == Language::Other && code.contains("system(") | code.contains("getline") {
            // The output of awk for a shell.
            let literal = ["system(\"", "system('", "\" | getline"];
            if !literal.iter().any(|literal| code.contains(literal)) {
                self.unknown(code);
            }
        }
    }

    /// What an interpreter runs that gets its code from the line: all of the line may be code.
    pub(crate) fn input_code(&mut self, commands: &[CommandWords], line: &str) {
        for command in commands {
            if !runs_its_input(&command.without_inputs()) {
                continue;
            }
            let languages = command
                .0
                .iter()
                .map(|word| Language::of_program(base_name(word)));
            for language in languages.flatten().filter(|it| *it != Language::Shell) {
                self.code(language, line);
            }
        }
    }

    fn program(&mut self, program: &str) {
        if program.contains(UNKNOWN) {
            self.unknown(program);
        } else if program.contains(['/', '\\']) {
            self.all.push(FileCandidate::Path(program.to_owned()));
        } else if !program.is_empty() {
            self.all.push(FileCandidate::Program(program.to_owned()));
        }
    }

    /// The paths in a word: as it is, behind an option or a `=`, and between separators.
    fn argument(&mut self, argument: &str) {
        if argument.contains(UNKNOWN) {
            let is_code = argument.contains('/') && has_code_ending(argument);
            if is_code {
                self.unknown(argument);
            }
            return;
        }
        let value = argument.split_once('=');
        if value.is_some_and(|(option, _)| OUTPUT_OPTIONS.contains(&option)) {
            return;
        }
        let joined = argument.strip_prefix('-').and_then(|rest| {
            let mut rest = rest.chars();
            rest.next()?;
            Some(rest.as_str())
        });
        let parts = argument.split([':', ',', '=']);
        let all = [Some(argument), value.map(|(_, value)| value), joined];
        for path in all.into_iter().flatten().chain(parts) {
            let is_written = WRITTEN.iter().any(|ending| path.ends_with(ending));
            // A command in a setting, and the contents of a file.
            let path = path.trim_start_matches(['!', '@']);
            if !path.is_empty() && !is_written {
                self.all.push(FileCandidate::Path(path.to_owned()));
            }
        }
    }

    /// A package of the folder that a package runner prefers to one that it would download.
    fn package(&mut self, word: &str) {
        let version = word.get(1..).and_then(|rest| rest.find('@'));
        let package = version.map_or(word, |at| &word[..=at]);
        let name = package.rsplit('/').next().unwrap_or(package);
        self.all
            .push(FileCandidate::Path(format!("node_modules/.bin/{name}")));
        let manifest = format!("node_modules/{package}/package.json");
        self.all.push(FileCandidate::Path(manifest));
    }

    /// A module of the working folder that an interpreter prefers to one that is installed.
    fn module(&mut self, module: &str) {
        if module.contains(UNKNOWN) {
            return self.unknown(module);
        }
        if is_builder(module, &[]) {
            return self.unknown(module);
        }
        let path = module.replace('.', "/");
        for file in [".py", "/__main__.py", "/__init__.py"] {
            self.all.push(FileCandidate::Path(format!("{path}{file}")));
        }
    }

    fn unknown(&mut self, word: &str) {
        let shown = format!("`{}`", word.replace(UNKNOWN, "…"));
        self.unknown.get_or_insert(shown);
    }
}

/// Whether a command runs the files that another one lists.
fn runs_listed_files(CommandWords(words): &CommandWords) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    match base_name(program) {
        "xargs" | "parallel" => arguments.iter().any(|word| runs_a_file(word)),
        name => is_shell(name) && runs_its_input(&CommandWords(words.clone())),
    }
}

/// Whether a command runs files whose names it reads.
fn runs_what_it_reads_about(CommandWords(words): &CommandWords) -> bool {
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
fn names_what_it_lists(CommandWords(words): &CommandWords) -> bool {
    const FILTERS: [&str; 6] = ["awk", "grep", "head", "sort", "tail", "uniq"];
    let name = words.first().map_or("", |program| base_name(program));
    LISTERS.contains(&name)
        || WRITERS.contains(&name)
        || FILTERS.contains(&name)
        || ["", "cd", "parallel", "xargs"].contains(&name)
}

/// Whether `find` runs the files that it finds.
fn runs_what_it_finds(arguments: &[String]) -> bool {
    let runs = |words: &[String]| {
        let [action, program] = words else {
            return false;
        };
        let runs = [
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-x",
            "-X",
            "--exec",
            "--exec-batch",
        ];
        runs.contains(&action.as_str()) && runs_a_file(program)
    };
    arguments.windows(2).any(runs)
}

/// Whether a word in the place of a program is a file that is found, or runs one.
fn runs_a_file(word: &str) -> bool {
    let name = base_name(word);
    word.contains("{}") || runs_arguments(name)
}

/// The words of code that may name modules or folders.
fn code_words(code: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "_./:-".contains(c);
    let words = code.split(move |c: char| !is_part(c));
    words.filter(|word| !word.is_empty() && *word != ".")
}

/// Whether a command runs what it reads.
fn runs_its_input(CommandWords(words): &CommandWords) -> bool {
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

/// Whether a word names a program whose arguments are looked at.
fn is_special(word: &str) -> bool {
    let name = without_version(base_name(word));
    let is_listed = WRAPPERS.contains(&name)
        || RUNNERS.contains(&name)
        || PACKAGE_BUILDERS.contains(&name)
        || FOLDER_FILES.iter().any(|(own, _)| *own == name)
        || BUILDERS.iter().any(|(own, _)| *own == name);
    (is_listed || is_interpreter(name)) && !word.contains(UNKNOWN)
}

/// Whether a script of a package runs its tests, by its name.
fn is_test(script: &str) -> bool {
    ["t", "tst"].contains(&script) || script.split([':', '-']).any(|part| part == "test")
}

/// Whether a program builds or runs the code of its folder.
fn is_builder(name: &str, arguments: &[String]) -> bool {
    let name = without_version(name);
    let first = arguments.first().map(String::as_str).unwrap_or_default();
    let runs_tests = match name {
        "bun" | "npm" | "pnpm" | "yarn" if arguments.iter().any(|word| is_test(word)) => true,
        "bun" | "deno" => ["bench", "test"].contains(&first),
        "node" => arguments.iter().any(|option| option == "--test"),
        _ => false,
    };
    if runs_tests {
        return true;
    }
    let mut builders = BUILDERS.iter();
    builders.any(|(builder, harmless)| *builder == name && !harmless.contains(&first))
}

/// The files that a path with patterns in it matches.
pub(crate) fn expand(path: &Path, limit: usize) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in path.components() {
        let part = part.as_os_str();
        let pattern = part.to_str().filter(|part| part.contains(['*', '?', '[']));
        let Some(pattern) = pattern else {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        };
        let entries = found.iter().flat_map(|folder| {
            let entries = codex_mounts::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten();
            entries.map(|entry| entry.path())
        });
        let matching = entries.filter(|path| {
            let name = path.file_name().and_then(OsStr::to_str);
            name.is_some_and(|name| matches(pattern, name))
        });
        found = matching.take(limit).collect();
    }
    found
}

/// Whether a name matches a pattern. Sets of characters match any character.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.chars();
    match parts.next() {
        None => name.is_empty(),
        Some('*') => {
            let rest = parts.as_str();
            let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.any(|at| matches(rest, &name[at..]))
        }
        Some(c) => {
            let mut own = name.chars();
            let rest = match c {
                '[' => parts.as_str().split_once(']').map_or("", |(_, rest)| rest),
                _ => parts.as_str(),
            };
            let first = own.next();
            let fits = match c {
                '?' | '[' => first.is_some(),
                c => first == Some(c),
            };
            fits && matches(rest, own.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> (Vec<String>, Option<String>) {
        let words = words.iter().map(|word| word.replace('?', "\0"));
        let found = Candidates::of(&[CommandWords(words.collect())]);
        let shown = found.all.into_iter().map(|candidate| match candidate {
            FileCandidate::Program(name) => format!("<{name}>"),
            FileCandidate::Path(path) => path,
            FileCandidate::Imports(_) => "*.py".to_owned(),
            FileCandidate::Packages => "node_modules".to_owned(),
            FileCandidate::Folder(path) => format!("{path}/"),
            FileCandidate::Home(path) => format!("~/{path}"),
            FileCandidate::Variable(name, value) => format!("{name}={value}"),
        });
        (shown.collect(), found.unknown)
    }

    #[test]
    fn arguments_that_may_be_paths_are_looked_at() {
        let (found, unknown) = of(&["python3", "-u", "x.py", "--config=c.json", "-fy", "a:b"]);
        for path in ["<python3>", "x.py", "c.json", "y", "a", "b"] {
            assert!(found.iter().any(|found| found == path), "{path}: {found:?}");
        }
        assert_eq!(unknown, None);
    }

    #[test]
    fn what_is_written_or_only_read_is_left_out() {
        assert_eq!(of(&["tee", "-a", "x"]).0, ["<tee>"]);
        assert_eq!(of(&["cat", "x"]).0, ["<cat>"]);
        let (found, _) = of(&["./x", "--log", "y", "-o", "z", "--output=w", "a.log"]);
        for path in ["y", "z", "w", "a.log"] {
            assert!(
                !found.iter().any(|found| found == path),
                "{path}: {found:?}"
            );
        }
        let piped = ["cat x", "bash"]
            .map(|line| CommandWords(line.split(' ').map(str::to_owned).collect()));
        assert!(
            Candidates::of(&piped)
                .all
                .contains(&FileCandidate::Path("x".to_owned()))
        );
    }

    #[test]
    fn local_packages_modules_and_recipes_are_looked_at() {
        let (found, _) = of(&["npx", "-y", "@s/p@1.0"]);
        assert!(
            found.contains(&"node_modules/.bin/p".to_owned()),
            "{found:?}"
        );
        assert!(
            found.contains(&"node_modules/@s/p/package.json".to_owned()),
            "{found:?}"
        );
        let (found, _) = of(&["python3", "-m", "a.b"]);
        assert!(found.contains(&"a/b/__main__.py".to_owned()), "{found:?}");
        assert!(of(&["make", "x"]).0.contains(&"Makefile".to_owned()));
    }

    #[test]
    fn words_to_run_that_are_not_known_are_reported() {
        for (words, is_unknown) in [
            (&["?"][..], true),
            (&["?/x.sh"], true),
            (&["bash", "?"], true),
            (&["python3", "-u", "?"], true),
            (&["timeout", "5", "?"], true),
            (&["./x", "?/y.py"], true),
            (&["./x", "?"], false),
            (&["jq", "-r", "?"], false),
            (&["python3", "x.py", "?"], false),
            (&["python3", "-m", "?"], true),
        ] {
            assert_eq!(of(words).1.is_some(), is_unknown, "{words:?}");
        }
    }

    #[test]
    fn folders_whose_files_are_run_count_as_a_whole() {
        for (lines, folder) in [
            (&["run-parts -v d"][..], Some("d")),
            (&["find d -type f -exec {} ;"], Some("d")),
            (&["find d -exec sh {} ;"], Some("d")),
            (&["find -exec sh {} ;"], Some(".")),
            (&["find d -exec rustfmt {} ;"], None),
            (&["find d -print0", "xargs -0 -n 1 sh"], Some("d")),
            (&["find d", "xargs prettier --write"], None),
            (&["ls -1 d", "xargs -I {} {}"], Some("d")),
            (&["find d", "sh"], Some("d")),
            (&["ls d", "wc -l"], None),
        ] {
            let words = |line: &&str| CommandWords(line.split(' ').map(str::to_owned).collect());
            let found = Candidates::of(&lines.iter().map(words).collect::<Vec<_>>()).all;
            let folders = found.iter().find_map(|candidate| match candidate {
                FileCandidate::Folder(path) => Some(path.as_str()),
                _ => None,
            });
            assert_eq!(folders, folder, "{lines:?}");
        }
    }

    #[test]
    fn modules_of_options_and_of_code_are_looked_at() {
        for (words, path) in [
            (&["perl", "-I.", "-MA::B", "-e", "1"][..], "A/B.pm"),
            (
                &[
                    "python3",
                    "-c",
                    "import sys; sys.path.insert(0, 'lib'); import m",
                ],
                "m.py",
            ),
            (&["ruby", "-rx"], "x.rb"),
            (&["node", "-e", "require('./y')"], "./y.js"),
            (&["tar", "--checkpoint-action=exec=./x"], "./x"),
        ] {
            assert!(of(words).0.contains(&path.to_owned()), "{words:?}");
        }
    }

    #[test]
    fn patterns_match_names() {
        for (pattern, name, expected) in [
            ("*.sh", "a.sh", true),
            ("*.sh", "a.py", false),
            ("a?c*", "abcd", true),
            ("[ab]x", "bx", true),
            ("x", "xy", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
