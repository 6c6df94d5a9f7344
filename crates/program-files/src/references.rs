//! What found files refer to: the modules that they import and the scripts that they call.
//!
//! No language is parsed. Every word in the text of a file that names code beside it, or in the working folder, counts;
//! scripts for a shell are also read like a line of a hook. Names that a program computes are not found.

mod commands;
mod javascript;
mod names;
mod python;
mod reader;
mod text;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::awk;
use crate::candidates::{Candidates, FileCandidate};
use crate::code_calls::{CodeCall, OWN_FOLDER, calls_with, own_starters, process_moves};
use crate::effort::Effort;
use crate::finder::Finder;
use crate::found_files::{
    BESIDE_MARK, FOLLOWED_MARK, MAX_FILES, ProgramFile, ProgramFiles, SETTINGS_MARK,
};
use crate::interpreters::Language;
use crate::line::{CommandWords, read_line};
use crate::moved_commands::changes_folder;
use crate::program_file::is_path;
use crate::recipes::recipes_of;
use crate::run_places::RunPlaces;
use crate::script_places::with_known_places;
use javascript::{MANIFEST, package_scripts};
use reader::{ImportedModules, ReferenceReader};
use text::{may_import, names_interpreter, runs_text, text_of, words};

/// The limit on files that are read again for other folders.
const MAX_MOVED: usize = 256;
/// The limit on the folders that a text names.
const MAX_INNER: usize = 16;

/// Adds what the files refer to, what those refer to, and so on.
pub(crate) fn follow(finder: &Finder<'_>, found: &mut ProgramFiles) {
    let mut reader = ReferenceReader {
        finder,
        listings: HashMap::new(),
        search_path: finder.own_search_path(),
        runs_text: false,
        computed: Vec::new(),
        recipe_files: Vec::new(),
        uncertain: Vec::new(),
        run_by: Vec::new(),
        moves: BTreeMap::new(),
        code_files: BTreeSet::new(),
        sourced: BTreeSet::new(),
        modules: ImportedModules::default(),
        starters: BTreeSet::new(),
        known_starters: HashMap::new(),
        places: BTreeMap::new(),
        scripts: HashSet::new(),
        read_again: 0,
        effort: Effort::default(),
        source: PathBuf::new(),
    };
    // What the search path finds elsewhere is installed.
    let is_own = |file: &&ProgramFile| {
        let is_named = !file.word.starts_with(FOLLOWED_MARK);
        is_named && (is_path(&file.word) || finder.is_of_work(&file.path))
    };
    let named = found.all.iter().filter(is_own);
    let named: BTreeSet<PathBuf> = named.map(|file| file.path.clone()).collect();
    let mut index = 0;
    loop {
        while let Some(file) = found.file_at(index).cloned() {
            reader.file(&file, found);
            index += 1;
        }
        reader.recipes(found);
        reader.git(found);
        reader.modules(found);
        if reader.effort.is_spent() {
            let shown = || "more scripts than are read".to_owned();
            found.unknown.get_or_insert_with(shown);
            break;
        }
        let moved = reader.moved_files(found);
        moved.iter().for_each(|file| reader.file(file, found));
        if moved.is_empty() && index == found.count() {
            break;
        }
    }
    if let Some(shown) = reader.uncertain_of(named) {
        found.unknown.get_or_insert(shown);
    }
    let mut computed = reader.computed.into_iter();
    // A module that only lies beside a script is imported by nothing that is known.
    let is_run = |path: &Path| {
        !found
            .all
            .iter()
            .any(|file| file.path == path && file.word.starts_with(BESIDE_MARK))
    };
    if let Some((path, call)) = computed.find(|(path, _)| is_run(path)) {
        let shown = || format!("`{call}` in {}", path.display());
        found.unknown.get_or_insert_with(shown);
    }
}

impl ReferenceReader<'_> {
    fn file(&mut self, file: &ProgramFile, found: &mut ProgramFiles) {
        let is_named = !file.word.starts_with(FOLLOWED_MARK);
        let own_word = file.word.trim_start_matches(FOLLOWED_MARK);
        let is_settings = own_word.starts_with(SETTINGS_MARK);
        let is_data = file.word == MANIFEST;
        for path in [&file.path, &file.real] {
            let places = found.places.get(path).cloned();
            places
                .into_iter()
                .for_each(|places| drop(self.places.insert(path.clone(), places)));
        }
        if file.is_of_system || is_data {
            return;
        }
        self.read(&file.path, (is_named, is_settings), found);
        // Most interpreters look beside what a link leads to.
        if file.real != file.path {
            self.run_by.push((file.path.clone(), file.real.clone()));
            self.read(&file.real, (is_named, is_settings), found);
        }
    }

    /// `is_named`: whether words of the line name the file, so that it decides where code is imported from. `is_settings`:
    /// whether it may name code although it is none.
    fn read(
        &mut self,
        path: &Path,
        (is_named, is_settings): (bool, bool),
        found: &mut ProgramFiles,
    ) {
        let Some(text) = text_of(path) else { return };
        let Some(folder) = path.parent() else { return };
        let language = Language::of_file(path, &text);
        if !self.effort.reads(&text) {
            return;
        }
        self.source = path.to_path_buf();
        let places = self.places.get(path).cloned().unwrap_or_default();
        if !matches!(language, Language::Other | Language::Shell) {
            self.code_files.insert(path.to_path_buf());
            if self.finder.is_of_work(path) {
                self.starters.extend(own_starters(&text, language));
            }
            self.known_starters
                .insert(path.to_path_buf(), self.starters.clone());
        }
        let moves = self.moves_of(&places, &text, language, folder);
        self.moves.insert(path.to_path_buf(), moves);
        let has_recipes = recipes_of(path, &text).is_some();
        if has_recipes {
            self.recipe_files.push((path.to_path_buf(), text.clone()));
        }
        match language {
            Language::Python if is_named => self.finder.add_modules(folder, found),
            Language::JavaScript => {
                self.finder.add_packages(folder, found);
                self.add_manifest(folder, &text, found);
                self.add_renamed(folder, &text, found);
            }
            Language::Shell if has_recipes => self.read_script(&text, folder, false, found),
            Language::Shell => self.read_script(&(places.as_lines() + &text), folder, true, found),
            _ => {}
        }
        // The line with the interpreter may set variables.
        let first = text
            .lines()
            .next()
            .and_then(|first| first.strip_prefix("#!"));
        if let Some(first) = first {
            self.read_script(first, folder, true, found);
        }
        for script in package_scripts(path, &text) {
            self.read_script(&script, folder, false, found);
        }
        if language == Language::Other && !is_named && !is_settings {
            return;
        }
        let words: BTreeSet<&str> = words(&text).collect();
        if !self.effort.looks_for(words.len()) {
            return;
        }
        let calls = calls_with(&text, language, false, &self.starters);
        let is_judged = is_named || self.finder.is_of_work(path);
        let is_computed = |call: &&CodeCall| {
            call.is_computed || (call.reads_working_folder && places.has_unknown)
        };
        if let Some(call) = calls.iter().find(is_computed).filter(|_| is_judged) {
            self.computed.push((path.to_path_buf(), call.shown.clone()));
        }
        let runs_code = calls.iter().any(runs_text);
        if is_judged && awk::file_runs_lines(path, &text) {
            self.computed.push((path.to_path_buf(), "awk".to_owned()));
        }
        self.runs_text = runs_code || names_interpreter(&text);
        // Code may change its folder.
        let cwd = self.finder.place.cwd;
        let folders = words
            .iter()
            .flat_map(|word| [cwd.join(word), folder.join(word)]);
        let folders = folders.filter(|folder| codex_mounts::is_dir(folder));
        let mut bases: Vec<PathBuf> = folders.take(MAX_INNER).collect();
        bases.extend(places.folders.iter().cloned());
        for line in calls.iter().flat_map(|call| &call.lines) {
            self.read_script(&(places.as_lines() + line), folder, true, found);
        }
        self.imports(&text, language, path, &bases);
        if matches!(language, Language::Python | Language::Code) {
            self.python_imports(&text, path, &words, &bases);
        }
        calls
            .iter()
            .for_each(|call| self.call(call, language, (folder, &bases), found));
        let inner = words.iter().map(|word| folder.join(word));
        let inner: Vec<PathBuf> = inner
            .filter(|path| codex_mounts::is_dir(path))
            .take(MAX_INNER)
            .collect();
        for word in &words {
            self.word(word, folder, found);
            for folder in &inner {
                self.name(word, folder, found);
            }
        }
    }

    /// The code of the workspace that code imports runs with it.
    fn imports(&mut self, text: &str, language: Language, path: &Path, named: &[PathBuf]) {
        let lines = text.lines().filter(|line| may_import(line));
        let words: BTreeSet<&str> = lines.take(MAX_FILES).flat_map(words).collect();
        let own = path.parent().into_iter().chain([self.finder.place.cwd]);
        let bases: Vec<&Path> = own.chain(named.iter().map(PathBuf::as_path)).collect();
        for word in words.into_iter().take(MAX_FILES) {
            let module = match language {
                Language::Python => word.trim_start_matches('.').replace('.', "/"),
                _ => word.to_owned(),
            };
            if !self.effort.looks_for(bases.len()) {
                return;
            }
            for target in bases.iter().map(|base| base.join(&module)) {
                for ending in language.module_endings() {
                    let mut target = target.clone().into_os_string();
                    target.push(ending);
                    let target = PathBuf::from(target);
                    let is_code = codex_mounts::is_file(&target) && target != path;
                    if is_code && self.finder.is_of_work(&target) {
                        let real = codex_mounts::canonicalize(&target).ok();
                        let both = real.into_iter().chain([target]);
                        self.run_by
                            .extend(both.map(|target| (path.to_path_buf(), target)));
                    }
                }
            }
        }
    }

    /// The files that run in other folders than those for which they were read: what starts a file, and other code of its
    /// process, hand theirs on.
    fn moved_files(&mut self, found: &mut ProgramFiles) -> Vec<ProgramFile> {
        loop {
            let before = found.places.clone();
            let mut hand_on = |from: &RunPlaces, to: &PathBuf| {
                if !from.is_empty() {
                    found.places.entry(to.clone()).or_default().add(from);
                }
            };
            let own = |path: &PathBuf| before.get(path).cloned().unwrap_or_default();
            for (by, file) in &self.run_by {
                hand_on(&own(by), file);
            }
            for (by, part) in &self.sourced {
                hand_on(&own(part), by);
                self.moves
                    .get(part)
                    .into_iter()
                    .for_each(|moves| hand_on(moves, by));
            }
            for (by, moves) in &self.moves {
                let others = self
                    .code_files
                    .iter()
                    .filter(|file| self.code_files.contains(by) && *file != by);
                others.for_each(|file| hand_on(moves, file));
            }
            if found.places == before {
                break;
            }
        }
        let is_moved = |file: &&ProgramFile| {
            let places = |path| (found.places.get(path), self.places.get(path));
            [&file.path, &file.real].iter().any(|path| {
                let (now, before) = places(*path);
                (now.is_some() && now != before) || self.calls_new_starters(path)
            })
        };
        let moved: Vec<ProgramFile> = found.all.iter().filter(is_moved).cloned().collect();
        self.read_again += moved.len();
        if self.read_again > MAX_MOVED {
            let shown = || format!("more than {MAX_MOVED} scripts in other folders");
            found.unknown.get_or_insert_with(shown);
            return Vec::new();
        }
        moved
    }

    /// Whether code calls functions of other code that were not known to start programs when it was read.
    fn calls_new_starters(&self, path: &Path) -> bool {
        let Some(known) = self.known_starters.get(path) else {
            return false;
        };
        let mut new = self.starters.difference(known).peekable();
        if new.peek().is_none() {
            return false;
        }
        let text = text_of(path).unwrap_or_default();
        if !self.effort.reads(&text) {
            return false;
        }
        let names: HashSet<&str> = text
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .collect();
        new.any(|name| names.contains(name.as_str()))
    }

    /// The folders that a text changes to for its own process.
    fn moves_of(
        &self,
        places: &RunPlaces,
        text: &str,
        language: Language,
        folder: &Path,
    ) -> RunPlaces {
        const CHANGES: [&str; 5] = ["builtin", "cd", "chdir", "command", "pushd"];
        let lines = places.as_lines()
            + &match language {
                Language::Shell => text.to_owned(),
                _ => process_moves(text, language),
            };
        if !self.effort.reads(&lines) {
            return RunPlaces::default();
        }
        let known = self.finder.place.known_values();
        let mut commands = read_line(&with_known_places(&lines, folder), &known).commands;
        commands.retain(|command| {
            let program = command.0.first().map_or("", String::as_str);
            CHANGES.contains(&program) && changes_folder(command)
        });
        Finder::new(
            &Candidates::from_commands(&commands),
            &[],
            self.finder.place,
        )
        .run_places
    }

    /// What a call names: relative to the folder of the file, the folders around it and the working folder.
    fn call(
        &mut self,
        call: &CodeCall,
        language: Language,
        (folder, named): (&Path, &[PathBuf]),
        found: &mut ProgramFiles,
    ) {
        let above = folder.ancestors().take(call.levels + 1);
        let above = above.map(Path::to_path_buf);
        let cwd = self.finder.place.cwd.to_path_buf();
        let mut bases: Vec<PathBuf> = above.chain([cwd]).chain(named.iter().cloned()).collect();
        for moved in &call.folders {
            let relative = moved.replace(OWN_FOLDER, &folder.display().to_string());
            let entered: Vec<PathBuf> = bases
                .iter()
                .map(|base| base.join(&relative))
                .filter(|base| codex_mounts::is_dir(base))
                .collect();
            bases.extend(entered);
        }
        if call.is_folder && call.literals.is_empty() && call.levels > 0 {
            let folder = folder.ancestors().nth(call.levels).unwrap_or(folder);
            return self.finder.add_folder(folder, found);
        }
        for (path, base) in { call.paths() }.into_iter().flat_map(|path| {
            let bases = bases.iter();
            bases.map(move |base| (path.clone(), base))
        }) {
            if !self.effort.looks_for(1) {
                return;
            }
            let target = base.join(&path);
            if call.is_folder {
                if codex_mounts::is_dir(&target) {
                    self.finder.add_folder(&target, found);
                }
                continue;
            }
            for ending in language.module_endings() {
                let mut target = target.clone().into_os_string();
                target.push(ending);
                self.finder
                    .add_path(&format!(">{path}{ending}"), target.into(), found);
            }
        }
    }

    /// A script for a shell, like a line. Words that are not known are no reason to distrust it: it has been seen. What it
    /// builds is one, if `is_run`.
    fn read_script(&mut self, text: &str, folder: &Path, is_run: bool, found: &mut ProgramFiles) {
        if !self.effort.reads(text) {
            return;
        }
        let text = &with_known_places(text, folder);
        if !self
            .scripts
            .insert((self.source.clone(), text.clone(), is_run))
        {
            return;
        }
        let place = self.finder.place;
        let known = place.known_values();
        let read = read_line(text, &known);
        let mut candidates = Candidates::of_line(&read, text, &known);
        if self
            .source
            .file_name()
            .is_some_and(|name| name == "package.json")
        {
            candidates.add_installed();
        }
        // It has folders and a search path of its own.
        let is_file = |candidate: &&FileCandidate| !matches!(candidate, FileCandidate::Settings(_));
        let words = candidates.all.iter().filter(is_file).count();
        if !self.effort.looks_for(words) {
            return;
        }
        let finder = Finder::new(&candidates, &read.search_paths, place).with_settings(self.finder);
        if !self.effort.looks_for(words * finder.folder_count()) {
            return;
        }
        let mut part = ProgramFiles::default();
        finder.add_all(&candidates.all, &mut part);
        part.mark_followed(0, FOLLOWED_MARK);
        for CommandWords(words) in &read.commands {
            let [program, file, ..] = words.as_slice() else {
                continue;
            };
            if ["source", "."].contains(&program.as_str()) {
                let files = part
                    .all
                    .iter()
                    .filter(|part| part.word.ends_with(file.as_str()));
                self.sourced
                    .extend(files.map(|part| (self.source.clone(), part.path.clone())));
            }
        }
        let source = &self.source;
        let run = part.all.iter();
        self.run_by
            .extend(run.map(|file| (source.clone(), file.path.clone())));
        if is_run {
            part.recipes.extend(candidates.recipes);
            // Of code, its own language says where programs come from.
            let is_code = self.code_files.contains(source);
            let computed = candidates.computed.filter(|_| !is_code);
            let uncertain = candidates.uncertain.into_iter().chain(computed);
            self.uncertain
                .extend(uncertain.map(|shown| (source.clone(), shown)));
        }
        found.take_in(part);
        found.search_paths.extend(read.search_paths);
    }

    /// What is not known before of what runs, beginning with these files.
    fn uncertain_of(&self, named: BTreeSet<PathBuf>) -> Option<String> {
        let mut run = named.clone();
        run.extend(self.finder.place.repository());
        run.insert(self.finder.place.cwd.to_path_buf());
        loop {
            let more: BTreeSet<PathBuf> = (self.run_by.iter())
                .filter(|(by, file)| run.contains(by) && !run.contains(file))
                .map(|(_, file)| file.clone())
                .collect();
            if more.is_empty() {
                break;
            }
            run.extend(more);
        }
        let mut uncertain = self.uncertain.iter();
        let (path, shown) = uncertain.find(|(path, _)| {
            run.contains(path) && (named.contains(path) || self.finder.is_of_work(path))
        })?;
        Some(format!("{shown} in {}", path.display()))
    }
}
