//! The paths that the words of commands may mean.

mod git;
mod interpreters;
mod listed;
mod packages;
mod variables;

use std::collections::BTreeSet;

use crate::awk;
use crate::builders::is_builder;
use crate::indirect_runs::{
    names_what_it_lists, replaces_its_arguments, run_by_functions, run_by_own_functions,
    runs_computed_name, runs_git, runs_its_input, runs_listed_files, runs_names_from_input,
    runs_unknown_command,
};
use crate::interpreters::{
    Language, STARTUP_FILES, home_files, is_interpreter, is_shell, reads_startup_files,
};
use crate::known_programs::{
    BUILDERS, OUTPUT_OPTIONS, PACKAGE_BUILDERS, PACKAGE_MANAGERS, PACKAGE_RUNNERS, READERS,
    RUN_FOLDERS, RUNNERS, WRAPPERS, WRITERS, WRITTEN_SUFFIXES, base_name, has_code_ending,
    without_version,
};
use crate::line::{CommandWords, KnownValues, LineCommands, UNKNOWNS, read_line};
use crate::moved_commands::{change_to_unknown_folder, changes_folder, unknown_folder_of};
use crate::python_start::removes_variables;
use crate::recipe_runners::recipe_request;
use crate::sed;
use crate::tool_settings::{has_settings, settings_of, tool_name};

/// How deeply code in code is read.
const MAX_CODE_DEPTH: usize = 3;

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
    /// What git runs in the repository around the working folder, for one of its commands.
    Git(String),
    /// A folder that may be another repository, whose settings git obeys.
    Repository(String),
    /// A variable that names places of code, and its value.
    Variable(String, String),
    /// A file with recipes, whatever its name.
    RecipeFile(String),
    /// A folder in which recipes are looked for and run.
    RecipeFolder(String),
    /// The files with settings that are named after a tool.
    Settings(String),
}

/// The paths and names that commands may mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) all: Vec<FileCandidate>,
    /// The first word that may name a file to run and is not known.
    pub(crate) unknown: Option<String>,
    /// What is not known before in scripts either: a build, a search path that is computed.
    pub(crate) uncertain: Option<String>,
    /// What a script runs without saying what it may be.
    pub(crate) computed: Option<String>,
    /// The recipes that are asked for.
    pub(crate) recipes: Vec<String>,
    /// Whether something is begun in another folder.
    pub(crate) changes_folder: bool,
    /// Whether that folder is not known.
    pub(crate) leaves_known_folders: bool,
    /// What code in arguments runs, as lines.
    lines: Vec<String>,
    /// The languages of the interpreters in the line.
    languages: Vec<Language>,
    /// Whether something is begun without the variables of the engine.
    removes_variables: bool,
}

impl Candidates {
    /// What the words of a line may mean, and those of the lines that code in it runs.
    pub(crate) fn of_line(line: &LineCommands, text: &str, known: &KnownValues<'_>) -> Self {
        let reads_input = line.commands.iter().any(|command| {
            let program = command.0.first().map_or("", |program| base_name(program));
            !["eval", "source", "."].contains(&program) && runs_its_input(command)
        });
        let texts = if reads_input {
            &[]
        } else {
            line.quoted.as_slice()
        };
        let mut found = Self::of_commands(&line.commands, texts);
        found.input_code(&line.commands, text);
        let commands = &line.commands;
        let is_run = |command: &&CommandWords| !texts.contains(command);
        let handed_on = run_by_own_functions(text, commands, known);
        let mut computed = commands.iter().filter(is_run).chain(&handed_on);
        let computed = computed.find(|command| runs_unknown_command(&command.without_inputs()));
        let replaced = || {
            commands
                .first()
                .filter(|_| replaces_its_arguments(commands))
        };
        if let Some(command) = computed.or_else(replaced) {
            found
                .computed
                .get_or_insert_with(|| shown(&command.0.join(" ")));
        }
        let mut inner = std::mem::take(&mut found.lines);
        for _ in 0..MAX_CODE_DEPTH {
            let lines: BTreeSet<String> = inner.drain(..).collect();
            for line in lines {
                let mut part = Self::from_commands(&read_line(&line, known).commands);
                inner.append(&mut part.lines);
                found.take_in(part);
            }
        }
        if !inner.is_empty() {
            found.unknown("code in code");
        }
        found
    }

    fn take_in(&mut self, part: Self) {
        self.all.extend(part.all);
        self.all.sort();
        self.all.dedup();
        self.recipes.extend(part.recipes);
        self.computed = self.computed.take().or(part.computed);
        self.changes_folder |= part.changes_folder;
        self.leaves_known_folders |= part.leaves_known_folders;
        self.unknown = self.unknown.take().or(part.unknown);
        self.uncertain = self.uncertain.take().or(part.uncertain);
    }

    pub(crate) fn from_commands(commands: &[CommandWords]) -> Self {
        Self::of_commands(commands, &[])
    }

    /// `texts`: those among the commands that most likely are none.
    fn of_commands(commands: &[CommandWords], texts: &[CommandWords]) -> Self {
        let mut all = commands.to_vec();
        all.extend(run_by_functions(commands));
        let all = all.as_slice();
        let commands: Vec<CommandWords> = all.iter().map(CommandWords::without_inputs).collect();
        let commands = commands.as_slice();
        let programs = commands.iter().flat_map(|command| &command.0);
        let languages = programs.filter_map(|word| Language::of_program(base_name(word)));
        let mut found = Self {
            languages: languages.filter(|it| *it != Language::Shell).collect(),
            removes_variables: commands.iter().any(removes_variables),
            changes_folder: commands.iter().any(changes_folder),
            leaves_known_folders: change_to_unknown_folder(commands).is_some(),
            ..Self::default()
        };
        found.languages.sort_unstable();
        found.languages.dedup();
        let reads_input = commands.iter().any(runs_its_input);
        let is_run = |command: &&CommandWords| !texts.contains(command);
        let mut run = commands.iter().filter(is_run);
        let runs_listed =
            run.any(|command| runs_listed_files(command) || runs_computed_name(command));
        if commands.iter().any(runs_git) {
            found.repositories(commands);
        }
        let is_read = || {
            let takes_file = |command: &CommandWords| {
                command.inputs().next().is_some()
                    && runs_names_from_input(&command.without_inputs())
            };
            all.iter().any(takes_file) || !commands.iter().all(names_what_it_lists)
        };
        if commands.iter().any(runs_names_from_input) && is_read() {
            found.unknown("the files that xargs reads");
            found.uncertain("the files that xargs reads");
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
        if let Some(folder) = unknown_folder_of(commands) {
            found.uncertain(&folder.shown);
            if !folder.is_set_elsewhere {
                found.unknown(&folder.shown);
            }
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
        if reads_input && input.contains(UNKNOWNS) {
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
        let before = (self.unknown.clone(), self.uncertain.clone());
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
            (self.unknown, self.uncertain) = before;
        }
    }

    fn words(&mut self, words: &[String], reads_input: bool) {
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        let name = base_name(program);
        self.program(program);
        self.folder_of_computed(program);
        self.all
            .extend(home_files(name).iter().copied().map(FileCandidate::Home));
        if is_shell(name) && arguments.iter().any(|option| reads_startup_files(option)) {
            self.all.extend(STARTUP_FILES.map(FileCandidate::Home));
        }
        if name == "jq" {
            self.filter(arguments);
        }
        if name == "sed"
            && let Some(script) = sed::running_script(arguments)
        {
            self.unknown(script);
            self.uncertain(script);
        }
        if name.ends_with("awk")
            && let Some(program) = awk::running_program(arguments)
        {
            self.unknown(program);
            self.uncertain(program);
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
            return self.builds(program, arguments);
        }
        self.recipes(name, arguments);
        if matches!(name, "cd" | "eval" | "pushd")
            && arguments.iter().any(|word| word.contains(UNKNOWNS))
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
        self.settings(program);
        for (runner, folders) in RUN_FOLDERS {
            if runner == without_version(name) {
                let folders = folders.iter().map(|folder| (*folder).to_owned());
                self.all.extend(folders.map(FileCandidate::Folder));
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
            if !is_option && begins_tools(name) {
                self.settings(argument);
            }
            if runs_packages(name) && !is_option {
                self.package(argument);
            }
            if WRAPPERS.contains(&name) && !is_option {
                self.program(argument);
                self.folder_of_computed(argument);
            }
            if is_operand_to_run && !is_option {
                is_operand_to_run = false;
                if argument.contains(UNKNOWNS) {
                    self.unknown(argument);
                    self.folder_of_computed(argument);
                }
            }
            self.variable(argument);
            self.argument(argument);
        }
    }

    /// What a tool reads of the folder.
    fn settings(&mut self, program: &str) {
        let Some(name) = tool_name(program) else {
            return;
        };
        let files = settings_of(name).map(|file| FileCandidate::Path(file.to_owned()));
        self.all.extend(files);
        self.all.push(FileCandidate::Settings(name.to_owned()));
    }

    /// A program that runs whatever lies in its folder.
    fn builds(&mut self, program: &str, arguments: &[String]) {
        let first = arguments.first().map_or("", String::as_str);
        self.unknown(program);
        self.uncertain(&format!("{program} {first}"));
    }

    /// The recipes that a program is asked for, and where they are.
    fn recipes(&mut self, name: &str, arguments: &[String]) {
        let Some(request) = recipe_request(name, arguments) else {
            return;
        };
        if request.is_uncertain {
            self.builds(name, arguments);
        }
        self.recipes.extend(request.names);
        let folders = request.folders.into_iter().map(FileCandidate::RecipeFolder);
        self.all.extend(folders);
        let files = request.files.into_iter().map(FileCandidate::RecipeFile);
        self.all.extend(files);
    }

    /// The folder of a file to run whose name is computed: any file in it may be meant.
    fn folder_of_computed(&mut self, word: &str) {
        let known = word.split(UNKNOWNS).next().unwrap_or_default();
        if let Some((folder, _)) = known.rsplit_once('/').filter(|_| known.len() < word.len())
            && !folder.is_empty()
        {
            self.all.push(FileCandidate::Folder(folder.to_owned()));
        }
    }

    fn program(&mut self, program: &str) {
        if program.contains(UNKNOWNS) {
            self.unknown(program);
        } else if program.contains(['/', '\\']) {
            self.all.push(FileCandidate::Path(program.to_owned()));
        } else if !program.is_empty() {
            self.all.push(FileCandidate::Program(program.to_owned()));
        }
    }

    /// The paths in a word: as it is, behind an option or a `=`, and between separators.
    fn argument(&mut self, argument: &str) {
        if argument.contains(UNKNOWNS) {
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
            let is_written = WRITTEN_SUFFIXES.iter().any(|ending| path.ends_with(ending));
            // A command in a setting, and the contents of a file.
            let path = path.trim_start_matches(['!', '@']);
            if !path.is_empty() && !is_written {
                self.all.push(FileCandidate::Path(path.to_owned()));
            }
        }
    }

    fn unknown(&mut self, word: &str) {
        self.unknown.get_or_insert_with(|| shown(word));
    }

    fn uncertain(&mut self, word: &str) {
        self.uncertain.get_or_insert_with(|| shown(word.trim()));
    }
}

/// Whether an argument of a program may be a tool that it begins.
fn begins_tools(name: &str) -> bool {
    WRAPPERS.contains(&name)
        || RUNNERS.contains(&name)
        || PACKAGE_BUILDERS.contains(&name)
        || name == "composer"
        || (is_interpreter(name) && !is_shell(name))
}

/// Whether a program runs those of packages: for each script of a package, there may be a program of that name.
fn runs_packages(name: &str) -> bool {
    PACKAGE_RUNNERS.contains(&name) || PACKAGE_MANAGERS.contains(&name)
}

fn shown(word: &str) -> String {
    format!("`{}`", word.replace(UNKNOWNS, "…"))
}

/// Whether a word names a program whose arguments are looked at.
fn is_special(word: &str) -> bool {
    let name = without_version(base_name(word));
    let is_listed = WRAPPERS.contains(&name)
        || RUNNERS.contains(&name)
        || PACKAGE_BUILDERS.contains(&name)
        || has_settings(name)
        || BUILDERS.iter().any(|(own, _)| *own == name);
    (is_listed || is_interpreter(name)) && !word.contains(UNKNOWNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates_of(words: &[&str]) -> (Vec<String>, Option<String>) {
        let words = words.iter().map(|word| word.replace('?', "\0"));
        let found = Candidates::from_commands(&[CommandWords(words.collect())]);
        let shown = found.all.into_iter().map(|candidate| match candidate {
            FileCandidate::Program(name) => format!("<{name}>"),
            FileCandidate::Path(path) => path,
            FileCandidate::Imports(_) => "*.py".to_owned(),
            FileCandidate::Packages => "node_modules".to_owned(),
            FileCandidate::Folder(path) => format!("{path}/"),
            FileCandidate::Home(path) => format!("~/{path}"),
            FileCandidate::Git(command) => format!("git {command}"),
            FileCandidate::Repository(path) => format!("{path}/.git"),
            FileCandidate::Variable(name, value) => format!("{name}={value}"),
            FileCandidate::RecipeFile(path) => format!("{path}:"),
            FileCandidate::RecipeFolder(path) => format!("{path}/:"),
            FileCandidate::Settings(name) => format!(".{name}rc"),
        });
        (shown.collect(), found.unknown)
    }

    #[test]
    fn arguments_that_may_be_paths_are_looked_at() {
        let (found, unknown) =
            candidates_of(&["python3", "-u", "x.py", "--config=c.json", "-fy", "a:b"]);
        for path in ["<python3>", "x.py", "c.json", "y", "a", "b"] {
            assert!(found.iter().any(|found| found == path), "{path}: {found:?}");
        }
        assert_eq!(unknown, None);
    }

    #[test]
    fn output_and_data_files_are_no_candidates() {
        assert_eq!(candidates_of(&["tee", "-a", "x"]).0, ["<tee>"]);
        assert_eq!(candidates_of(&["cat", "x"]).0, ["<cat>"]);
        let (found, _) = candidates_of(&["./x", "--log", "y", "-o", "z", "--output=w", "a.log"]);
        for path in ["y", "z", "w", "a.log"] {
            assert!(
                !found.iter().any(|found| found == path),
                "{path}: {found:?}"
            );
        }
        let piped = ["cat x", "bash"]
            .map(|line| CommandWords(line.split(' ').map(str::to_owned).collect()));
        assert!(
            Candidates::from_commands(&piped)
                .all
                .contains(&FileCandidate::Path("x".to_owned()))
        );
    }

    #[test]
    fn local_packages_modules_and_recipes_are_looked_at() {
        let (found, _) = candidates_of(&["npx", "-y", "@s/p@1.0"]);
        assert!(
            found.contains(&"node_modules/.bin/p".to_owned()),
            "{found:?}"
        );
        assert!(
            found.contains(&"node_modules/@s/p/package.json".to_owned()),
            "{found:?}"
        );
        let (found, _) = candidates_of(&["python3", "-m", "a.b"]);
        assert!(found.contains(&"a/b/__main__.py".to_owned()), "{found:?}");
        assert!(
            candidates_of(&["make", "x"])
                .0
                .contains(&"Makefile".to_owned())
        );
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
            assert_eq!(candidates_of(words).1.is_some(), is_unknown, "{words:?}");
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
            let found = Candidates::from_commands(&lines.iter().map(words).collect::<Vec<_>>()).all;
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
            assert!(
                candidates_of(words).0.contains(&path.to_owned()),
                "{words:?}"
            );
        }
    }
}
