//! The files that a line or a list of arguments leads to.

use std::ffi::OsStr;
use std::path::Path;

use crate::candidates::Candidates;
use crate::code_variables::code_paths;
use crate::finder::Finder;
use crate::found_files::ProgramFiles;
use crate::interpreters::is_shell;
use crate::launch_place::LaunchPlace;
use crate::line::{CommandWords, LineCommands, read_line};
use crate::run_places::RunPlaces;

impl ProgramFiles {
    /// The files of a line for a shell.
    #[must_use]
    pub fn of_line(line: &str, place: LaunchPlace<'_>) -> Self {
        let known = place.known_values();
        let found = read_line(line, &known);
        let candidates = Candidates::of_line(&found, line, &known);
        let mut files = Self::of_candidates(&candidates, &found.search_paths, place);
        if found.gave_up {
            files
                .unknown
                .get_or_insert_with(|| "a line that is too long".to_owned());
        }
        let mut files = files.complete(place);
        // A script that the line reads (`. ./env.sh`) may set the search path of the line.
        let mut set = std::mem::take(&mut files.search_paths);
        if !set.is_empty() {
            set.extend(found.search_paths);
            files.join(Self::of_candidates(&candidates, &set, place).complete(place));
            files = files.finish();
            files.search_paths.clear();
        }
        files
    }

    /// The files of a program and its arguments.
    #[must_use]
    pub fn of_arguments<S: AsRef<OsStr>>(arguments: &[S], place: LaunchPlace<'_>) -> Self {
        let words = arguments.iter();
        let words: Vec<String> = words
            .map(|word| word.as_ref().to_string_lossy().into_owned())
            .collect();
        // An argument may be a line for a shell.
        let mut files = Self::default();
        let runs_lines = words.iter().any(|word| is_shell(word));
        for word in words.iter().skip(1) {
            if word.contains(char::is_whitespace) {
                let mut inner = Self::of_line(word, place);
                inner.unknown = inner.unknown.filter(|_| runs_lines);
                files.join(inner);
            }
        }
        let line = LineCommands {
            commands: vec![CommandWords(words)],
            ..LineCommands::default()
        };
        let candidates = Candidates::of_line(&line, "", &place.known_values());
        files.join(Self::of_candidates(&candidates, &[], place));
        files.add_variables(place);
        files.complete(place)
    }

    /// Adds what the found files refer to.
    fn complete(mut self, place: LaunchPlace<'_>) -> Self {
        let finder = Finder::new(&Candidates::default(), &[], place);
        crate::references::follow(&finder, &mut self);
        if self.has_more {
            self.replace_by_folders(place.cwd);
        }
        // A script of Python needs what lies beside it, and the variable is for the whole line.
        let is_script = |path: &Path| path.extension().is_some_and(|ending| ending == "py");
        if self.imports_nothing && self.own().any(|file| is_script(&file.path)) {
            self.imports_nothing = false;
            finder.add_modules(place.cwd, &mut self);
            let places = std::mem::take(&mut self.import_places);
            for folder in &places.folders {
                finder.add_modules(folder, &mut self);
            }
            if places.has_unknown {
                let unknown = || "modules in a folder that is not known".to_owned();
                self.unknown.get_or_insert_with(unknown);
            }
        }
        self.import_places = RunPlaces::default();
        self.import_roots.clear();
        self.places.clear();
        self.finish()
    }

    /// Adds what variables name.
    fn add_variables(&mut self, place: LaunchPlace<'_>) {
        let finder = Finder::new(&Candidates::default(), &[], place);
        for (name, path) in code_paths(place) {
            if codex_mounts::is_dir(&path) {
                self.push_tree(&path);
            } else {
                finder.add_path(name, path, self);
            }
        }
    }

    fn of_candidates(
        candidates: &Candidates,
        search_paths: &[String],
        place: LaunchPlace<'_>,
    ) -> Self {
        let finder = Finder::new(candidates, search_paths, place);
        let mut files = Self {
            unknown: candidates.unknown.clone(),
            recipes: candidates.recipes.iter().cloned().collect(),
            ..Self::default()
        };
        finder.add_all(&candidates.all, &mut files);
        files.finish()
    }
}

#[cfg(all(test, unix))]
#[expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]
mod tests;
