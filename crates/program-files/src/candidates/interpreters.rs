//! What interpreters run beside the files that their arguments name.

use super::{Candidates, FileCandidate};
use crate::code_calls::calls;
use crate::indirect_runs::runs_its_input;
use crate::interpreters::{Language, code_arguments, module_folder};
use crate::known_programs::{base_name, is_data};
use crate::line::{CommandWords, UNKNOWNS};
use crate::python_imports::imported_modules;
use crate::python_start::PythonStart;

impl Candidates {
    /// The code of `jq`, which decides what is printed.
    pub(super) fn filter(&mut self, arguments: &[String]) {
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

    /// What an interpreter runs beside the files that its arguments name.
    pub(super) fn interpreter(&mut self, name: &str, arguments: &[String]) {
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
        let start = PythonStart::from_arguments(arguments);
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
    pub(super) fn modules(&mut self, language: Language, arguments: &[String]) {
        for argument in arguments.iter().filter(|word| !word.contains(UNKNOWNS)) {
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
        if language == Language::Python {
            let modules = imported_modules(code);
            modules
                .iter()
                .filter(|module| module.level == 0 && module.parts.len() > 1)
                .for_each(|module| self.module(&module.path().replace('/', ".")));
        }
        for call in calls {
            if call.is_computed {
                self.unknown(&call.shown);
                self.computed.get_or_insert_with(|| call.shown.clone());
            }
            let folders = call.folders.iter().cloned().map(FileCandidate::Path);
            self.all.extend(folders);
            self.lines.extend_from_slice(&call.lines);
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
    pub(super) fn input_code(&mut self, commands: &[CommandWords], line: &str) {
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
}

/// The words of code that may name modules or folders.
fn code_words(code: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "_./:-".contains(c);
    let words = code.split(move |c: char| !is_part(c));
    words.filter(|word| !word.is_empty() && *word != ".")
}
