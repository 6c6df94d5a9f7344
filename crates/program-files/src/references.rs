//! What found files refer to: the modules that they import and the scripts that they call.
//!
//! No language is parsed. Every word in the text of a file that names code beside it, or in the working folder, counts;
//! scripts for a shell are also read like a line of a hook. Names that a program computes are not found.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::awk;
use crate::candidates::{Candidates, FileCandidate};
use crate::code_calls::{CodeCall, OWN_FOLDER, calls_with, own_starters, process_moves};
use crate::effort::Effort;
use crate::finder::Finder;
use crate::found_files::{
    BESIDE_MARK, FOLLOWED_MARK, MAX_FILES, ProgramFile, ProgramFiles, SETTINGS_MARK,
};
use crate::git_settings::{GitPlaces, READING_GIT, git_settings};
use crate::interpreters::{Language, is_interpreter};
use crate::known_programs::{base_name, has_code_ending, is_data};
use crate::line::{CommandWords, read_line};
use crate::moved_commands::changes_folder;
use crate::program_file::{is_path, may_be_run};
use crate::python_imports::{ModuleName, changes_module_folders, imported_modules};
use crate::recipes::{lines_to_run, recipes_in, recipes_of};
use crate::run_places::RunPlaces;
use crate::script_places::with_known_places;
use crate::typescript_paths::{MAX_SETTINGS, bases, renamed_modules};

/// Longer texts are not read; their hashes count all the same.
const MAX_TEXT: u64 = 8 * 1024 * 1024;
/// Longer words name no file.
const MAX_WORD: usize = 256;
/// The limit on files that are read again for other folders.
const MAX_MOVED: usize = 256;
/// The limit on the folders that a text names.
const MAX_INNER: usize = 16;
/// The first files of a folder that is imported.
const FIRST_FILES: [&str; 8] = [
    "__init__.py",
    "__main__.py",
    "index.cjs",
    "index.js",
    "index.mjs",
    "index.ts",
    "init.lua",
    "package.json",
];
/// Names of code without an ending of code.
const CODE_NAMES: [&str; 3] = [".env", "gradlew", "configure"];

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

/// The word of the settings of a package, which is read for its imports only.
const MANIFEST: &str = ">>package.json";

/// The entries of a folder, by their names and by their names without endings.
type Listing = HashMap<String, Vec<PathBuf>>;

/// The modules that files import, and from where.
#[derive(Default)]
struct ImportedModules {
    all: Vec<(PathBuf, ModuleName)>,
    /// The folders from which they are imported.
    roots: Vec<PathBuf>,
    /// The files whose imports are known.
    files: HashSet<PathBuf>,
    /// How many of the modules and of the folders have been looked at together.
    done: (usize, usize),
}

impl ImportedModules {
    fn add_roots(&mut self, roots: impl IntoIterator<Item = PathBuf>) {
        for root in roots {
            if !self.roots.contains(&root) {
                self.roots.push(root);
            }
        }
    }
}

struct ReferenceReader<'a> {
    finder: &'a Finder<'a>,
    listings: HashMap<PathBuf, Listing>,
    search_path: Vec<PathBuf>,
    /// Whether the text that is read runs text, so that files count whatever their names are.
    runs_text: bool,
    /// The files that compute what they run, and how.
    computed: Vec<(PathBuf, String)>,
    /// Files with recipes, and their texts.
    recipe_files: Vec<(PathBuf, String)>,
    /// The files that run what is not known before, and what.
    uncertain: Vec<(PathBuf, String)>,
    /// Files, and what they run.
    run_by: Vec<(PathBuf, PathBuf)>,
    /// The folders that a file changes to itself.
    moves: BTreeMap<PathBuf, RunPlaces>,
    /// Files with code of a language, which may share a process.
    code_files: BTreeSet<PathBuf>,
    /// The modules that code of Python imports.
    modules: ImportedModules,
    /// Functions of code that start what they get as arguments, for other code to call.
    starters: BTreeSet<String>,
    /// Which of them were known when files with code were read.
    known_starters: HashMap<PathBuf, BTreeSet<String>>,
    /// Scripts, and those that they read as a part of themselves.
    sourced: BTreeSet<(PathBuf, PathBuf)>,
    /// Where files were run when they were read.
    places: BTreeMap<PathBuf, RunPlaces>,
    /// Scripts and lines that have been read, and the files that have them.
    scripts: HashSet<(PathBuf, String, bool)>,
    /// How many files have been read again.
    read_again: usize,
    effort: Effort,
    /// The file that is read.
    source: PathBuf,
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

    /// Keeps what code of Python imports, and from where it may.
    fn python_imports(
        &mut self,
        text: &str,
        path: &Path,
        words: &BTreeSet<&str>,
        named: &[PathBuf],
    ) {
        let Some(folder) = path.parent() else { return };
        self.modules.add_roots([folder.to_path_buf()]);
        if changes_module_folders(text) {
            let around: Vec<PathBuf> = folder
                .ancestors()
                .take_while(|folder| self.finder.is_of_work(folder))
                .chain([self.finder.place.cwd])
                .map(Path::to_path_buf)
                .collect();
            for folder in around {
                if !self.effort.compares(words.len()) {
                    return;
                }
                let listing = self.listing(&folder);
                let inner = words.iter().filter(|word| listing.contains_key(**word));
                let inner: Vec<PathBuf> = inner
                    .map(|word| folder.join(word))
                    .filter(|inner| codex_mounts::is_dir(inner))
                    .collect();
                self.modules.add_roots(inner.into_iter().chain([folder]));
            }
            self.modules.add_roots(named.iter().cloned());
        }
        if self.modules.files.insert(path.to_path_buf()) {
            let modules = imported_modules(text).into_iter();
            let modules = modules.map(|module| (path.to_path_buf(), module));
            self.modules.all.extend(modules);
        }
    }

    /// Adds the modules that code of Python imports, and the packages on the way to them.
    fn modules(&mut self, found: &mut ProgramFiles) {
        self.modules.add_roots(found.import_roots.iter().cloned());
        let mut modules = std::mem::take(&mut self.modules);
        self.runs_text = false;
        for (index, (source, module)) in modules.all.iter().enumerate() {
            let is_new = index >= modules.done.0;
            let relative = source.ancestors().nth(module.level).unwrap_or(source);
            let relative = (module.level > 0 && is_new).then_some(relative);
            let from = if is_new { 0 } else { modules.done.1 };
            let roots = modules.roots.iter().skip(from).map(PathBuf::as_path);
            let roots = roots.filter(|_| module.level == 0);
            for root in relative.into_iter().chain(roots) {
                if !self.effort.compares(1) {
                    break;
                }
                self.module(source, module, root, found);
            }
        }
        modules.done = (modules.all.len(), modules.roots.len());
        self.modules = modules;
    }

    fn module(
        &mut self,
        source: &Path,
        module: &ModuleName,
        root: &Path,
        found: &mut ProgramFiles,
    ) {
        let mut folder = root.to_path_buf();
        for part in &module.parts {
            let Some(paths) = self.listing(&folder).get(part).cloned() else {
                return;
            };
            if !self.effort.looks_for(paths.len()) {
                return;
            }
            for path in paths {
                self.code_at(part, &path, found);
                let first = path.join("__init__.py");
                let files = [path, first].into_iter();
                for file in files.filter(|file| file != source && self.finder.is_of_work(file)) {
                    let real = codex_mounts::canonicalize(&file).ok();
                    let both = real.into_iter().chain([file]);
                    self.run_by
                        .extend(both.map(|file| (source.to_path_buf(), file)));
                }
            }
            folder.push(part);
            if !codex_mounts::is_dir(&folder) {
                return;
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

    /// The settings of a package decide how its imports are resolved.
    fn add_manifest(&self, folder: &Path, text: &str, found: &mut ProgramFiles) {
        let manifests = folder.ancestors().map(|folder| folder.join("package.json"));
        if let Some(manifest) = { manifests }.find(|manifest| codex_mounts::is_file(manifest)) {
            let targets = own_targets(&manifest, text);
            let base = manifest.parent().unwrap_or(folder).to_path_buf();
            self.finder.add_path(MANIFEST, manifest, found);
            for target in targets {
                match target.split_once('*') {
                    Some((folder, _)) => self.finder.add_folder(&base.join(folder), found),
                    None => drop(self.finder.add_path(
                        &format!(">{target}"),
                        base.join(&target),
                        found,
                    )),
                }
            }
        }
    }

    /// The settings of TypeScript say what other names modules have, and settings that they are based on do.
    fn add_renamed(&mut self, folder: &Path, text: &str, found: &mut ProgramFiles) {
        let nearest = |name: &str| {
            let own = folder.ancestors();
            let mut own = own.take_while(|it| self.finder.is_of_work(it));
            own.find_map(|folder| {
                let path = folder.join(name);
                codex_mounts::is_file(&path).then_some(path)
            })
        };
        let own = ["tsconfig.json", "jsconfig.json"].map(nearest);
        let mut all: Vec<PathBuf> = own.into_iter().flatten().collect();
        let own_count = all.len();
        let mut index = 0;
        let mut has_names = false;
        while let Some(settings) = all.get(index).cloned() {
            let names = text_of(&settings).unwrap_or_default();
            let base = settings.parent().unwrap_or(folder);
            if !self.effort.reads(&names) {
                return;
            }
            for settings in bases(&names, base) {
                if all.contains(&settings) {
                    continue;
                }
                if all.len() >= MAX_SETTINGS {
                    let unknown = || format!("what `{}` is based on", all[0].display());
                    found.unknown.get_or_insert_with(unknown);
                    break;
                }
                all.push(settings);
            }
            let modules = renamed_modules(&names, text, |count| self.effort.compares(count));
            has_names |= !modules.is_empty();
            for module in modules {
                self.add_renamed_module(&base.join(module), found);
            }
            index += 1;
        }
        // What others are based on may come to rename what it does not rename yet.
        let is_based = all.len() > own_count;
        for settings in all.into_iter().filter(|_| has_names || is_based) {
            self.finder.add_path(MANIFEST, settings, found);
        }
    }

    fn add_renamed_module(&mut self, path: &Path, found: &mut ProgramFiles) {
        let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else {
            return;
        };
        if !self.effort.looks_for(1) {
            return;
        }
        let name = name.to_string_lossy();
        let stem = name.split_once('.').map(|(stem, _)| stem);
        for name in stem.into_iter().chain([&*name]) {
            self.name(name, folder, found);
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

    /// What recipes run that are asked for, until no more are.
    fn recipes(&mut self, found: &mut ProgramFiles) {
        loop {
            let before = (found.recipes.len(), found.recipe_files.len());
            for path in &found.recipe_files {
                let is_new = self.recipe_files.iter().all(|(known, _)| known != path);
                let text = text_of(path).filter(|_| is_new);
                self.recipe_files
                    .extend(text.map(|text| (path.clone(), text)));
            }
            for (path, text) in self.recipe_files.clone() {
                let recipes = recipes_of(&path, &text).unwrap_or_else(|| recipes_in(&path, &text));
                let lines = lines_to_run(&recipes, &found.recipes);
                let folder = path.parent().unwrap_or(&path).to_path_buf();
                // They run beside their file, or where an option says.
                let folders = found.recipe_folders.iter().chain([&folder]);
                let changes = folders.map(|folder| format!("cd '{}'\n", folder.display()));
                let lines = changes.collect::<String>() + &lines;
                self.source = path;
                self.read_script(&lines, &folder, true, found);
            }
            if (found.recipes.len(), found.recipe_files.len()) == before {
                return;
            }
        }
    }

    /// What git runs, as the settings of the repository say.
    fn git(&mut self, found: &mut ProgramFiles) {
        let commands = std::mem::take(&mut found.git);
        if commands.is_empty() {
            return;
        }
        // Outside of a repository the settings of the user count all the same.
        let root = self.finder.place.repository();
        let root = root.unwrap_or_else(|| self.finder.place.cwd.to_path_buf());
        let only_reads = (commands.iter()).all(|command| READING_GIT.contains(&command.as_str()));
        let place = self.finder.place;
        let mut places = GitPlaces::from_variables(&|name| place.variable(name));
        places.files.extend(found.git_files.iter().cloned());
        let settings = git_settings(&root, &places, only_reads);
        if settings.is_unreadable {
            found
                .unknown
                .get_or_insert_with(|| "the index of git".to_owned());
        }
        let is_of_work = |file: &&PathBuf| self.finder.is_of_work(file);
        for file in settings.included.iter().filter(is_of_work) {
            self.finder.add_path(">included", file.clone(), found);
        }
        for hook in settings.hooks {
            self.run_by.push((root.clone(), hook.clone()));
            self.finder.add_path(">hook", hook, found);
        }
        for folder in settings.inner {
            self.finder.add_repository(&folder, found);
        }
        self.source = root.clone();
        for (key, value) in settings.values {
            let mut part = ProgramFiles::default();
            let line = format!("cd {}\n{}", root.display(), value.trim_start_matches('!'));
            let is_run = commands.contains(&key) && value.starts_with('!');
            self.read_script(&line, &root, is_run, &mut part);
            // Data of the user and programs elsewhere are no matter of the workspace.
            part.all.retain(|file| self.finder.is_of_work(&file.real));
            part.trees.clear();
            part.unknown = None;
            part.git.clear();
            found.take_in(part);
        }
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

    fn word(&mut self, word: &str, folder: &Path, found: &mut ProgramFiles) {
        let dots = word.len() - word.trim_start_matches('.').len();
        let word = word.trim_end_matches(['.', '/']);
        if word.contains('/') {
            return self.path(word, folder, found);
        }
        // `.module` and `..package.module` of Python.
        let mut base = folder;
        for _ in 1..dots.max(1) {
            base = base.parent().unwrap_or(base);
        }
        let name = word.trim_start_matches('.');
        self.name(name, base, found);
        if dots > 0 {
            self.name(word, folder, found);
        }
        if let Some((first, _)) = name.split_once('.') {
            // `package.module`, and `module.name`.
            self.name(first, base, found);
            self.path(&name.replace('.', "/"), base, found);
        }
        let path = self.finder.place.cwd.join(word);
        if codex_mounts::is_file(&path) {
            self.code_at(word, &path, found);
        }
        for folder in self.search_path.clone() {
            let path = folder.join(word);
            let runs = |path: &Path| {
                let about = codex_mounts::metadata(path);
                about.is_ok_and(|about| about.is_file() && may_be_run(&about))
            };
            if runs(&path) {
                self.finder.add_path(&format!(">{word}"), path, found);
            }
        }
    }

    /// A path, relative to the folder of the file, the working folder or the home folder.
    fn path(&mut self, word: &str, folder: &Path, found: &mut ProgramFiles) {
        let home = self.finder.home();
        let relative = word.trim_start_matches("~/").trim_start_matches('/');
        let cwd = self.finder.place.cwd;
        let mut paths = vec![folder.join(word), folder.join(relative), cwd.join(relative)];
        paths.extend(home.map(|home| home.join(relative)));
        for path in paths {
            self.code_at(word, &path, found);
            if let (Some(name), Some(folder)) = (path.file_name(), path.parent()) {
                let name = name.to_string_lossy().into_owned();
                self.name(&name, folder, found);
            }
        }
    }

    /// A name in a folder, with or without its ending.
    fn name(&mut self, name: &str, folder: &Path, found: &mut ProgramFiles) {
        if name.is_empty() {
            return;
        }
        let paths = self.listing(folder).get(name).cloned();
        for path in paths.into_iter().flatten() {
            self.code_at(name, &path, found);
        }
    }

    /// Adds a path if it is code, or a folder with code.
    fn code_at(&self, word: &str, path: &Path, found: &mut ProgramFiles) {
        let Ok(about) = codex_mounts::metadata(path) else {
            return;
        };
        if about.is_dir() {
            for first in FIRST_FILES {
                let path = path.join(first);
                self.finder
                    .add_path(&format!(">{word}/{first}"), path, found);
            }
        } else if about.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_code = has_code_ending(&name)
                || CODE_NAMES.contains(&&*name)
                || may_be_run(&about)
                || begins_script(path)
                || (self.runs_text && !is_data(&name));
            if is_code {
                self.finder
                    .add_path(&format!(">{word}"), path.to_path_buf(), found);
            }
        }
    }

    fn listing(&mut self, folder: &Path) -> &Listing {
        self.listings
            .entry(folder.to_path_buf())
            .or_insert_with(|| {
                let mut listing = Listing::new();
                let entries = codex_mounts::read_dir(folder)
                    .into_iter()
                    .flatten()
                    .flatten();
                for entry in entries.take(20 * MAX_FILES) {
                    let name = entry.file_name().to_string_lossy().into_owned();
                    let stem = name.split_once('.').map(|(stem, _)| stem.to_owned());
                    if let Some(stem) = stem.filter(|stem| !stem.is_empty()) {
                        listing.entry(stem).or_default().push(entry.path());
                    }
                    listing.entry(name).or_default().push(entry.path());
                }
                listing
            })
    }
}

/// What a package means by its own name and by names with `#`, if a text has such a name.
fn own_targets(manifest: &Path, text: &str) -> Vec<String> {
    let package = text_of(manifest).and_then(|text| serde_json::from_str(&text).ok());
    let package: serde_json::Value = package.unwrap_or_default();
    let names = |name: &str| {
        let mut quotes = ['"', '\'', '`'].iter();
        quotes.any(|quote| text.contains(&format!("{quote}{name}")))
    };
    let own_name = package["name"]
        .as_str()
        .filter(|name| !name.is_empty() && names(name));
    let exports = own_name.map(|_| &package["exports"]);
    let imports = names("#").then_some(&package["imports"]);
    let mut values: Vec<&serde_json::Value> = exports.into_iter().chain(imports).collect();
    let mut targets = Vec::new();
    while let Some(value) = values.pop() {
        match value {
            serde_json::Value::String(target) if targets.len() < MAX_FILES => {
                targets.push(target.clone())
            }
            serde_json::Value::Array(inner) => values.extend(inner),
            serde_json::Value::Object(inner) => values.extend(inner.values()),
            _ => {}
        }
    }
    targets
}

/// The lines of the scripts of a package.
fn package_scripts(path: &Path, text: &str) -> Vec<String> {
    if path.file_name().is_none_or(|name| name != "package.json") {
        return Vec::new();
    }
    let package: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let scripts = package["scripts"].as_object().into_iter().flatten();
    let lines = scripts.filter_map(|(_, line)| line.as_str());
    lines.map(str::to_owned).take(MAX_FILES).collect()
}

/// Whether a call runs text that may come from any file.
fn runs_text(call: &CodeCall) -> bool {
    const NAMES: [&str; 6] = [
        "class_eval",
        "compile",
        "eval",
        "exec",
        "instance_eval",
        "runIn",
    ];
    NAMES.iter().any(|name| call.shown.starts_with(name))
}

/// Whether a text names a program that runs files, except for its own one.
fn names_interpreter(text: &str) -> bool {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let text = if first.starts_with("#!") { rest } else { text };
    let mut names = words(text).map(base_name);
    names.any(|name| name != "source" && is_interpreter(name))
}

/// Whether a line of code may import other code.
fn may_import(line: &str) -> bool {
    let line = line.trim_start();
    let begins = ["from ", "import ", "include", "load ", "require", "use "];
    begins.iter().any(|word| line.starts_with(word))
        || ["import(", "require(", " from "]
            .iter()
            .any(|word| line.contains(word))
}

/// The text of a file, if it is one.
fn text_of(path: &Path) -> Option<String> {
    codex_mounts::check(path).ok()?;
    let file = codex_regular_file::open(path).ok()?;
    let about = file.metadata().ok()?;
    if !about.is_file() || about.len() > MAX_TEXT {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_TEXT).read_to_end(&mut bytes).ok()?;
    let is_binary = bytes.iter().take(8192).any(|byte| *byte == 0);
    (!is_binary).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

fn begins_script(path: &Path) -> bool {
    let mut start = [0; 2];
    if !codex_mounts::answers(path) {
        return false;
    }
    let read = codex_regular_file::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *b"#!"
}

/// The words of a text that may name files.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "_./@~+-".contains(c);
    let words = text.split(move |c: char| !is_part(c));
    words.filter(|word| !word.is_empty() && word.len() <= MAX_WORD && *word != ".")
}
