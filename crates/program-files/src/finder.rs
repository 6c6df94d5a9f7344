//! Finds the files that candidates may mean.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::candidates::{Candidates, FileCandidate};
use crate::code_variables::places;
use crate::found_files::{BESIDE_MARK, MAX_FILES, ProgramFile, ProgramFiles, SETTINGS_MARK};
use crate::git_settings::settings_file;
use crate::interpreters::Language;
use crate::launch_place::LaunchPlace;
use crate::name_pattern::expand;
use crate::program_file::{DEFAULT_PATH, file_names, is_path, may_be_run, variable};
use crate::run_places::RunPlaces;
use crate::system_programs::is_of_system;
use crate::tool_settings::{reads_settings_below, tools_below, tools_of};

/// The limit on the folders that a line names.
const MAX_FOLDERS: usize = 32;
/// The limit on the entries of folders below that are looked at for settings.
const MAX_ENTRIES_BELOW: usize = 100_000;
/// Folders in which tools do not work on files.
const PASSED_OVER: [&str; 2] = [".git", "node_modules"];

/// Finds files for candidates.
pub(crate) struct Finder<'a> {
    pub(crate) place: LaunchPlace<'a>,
    /// The working folder, links resolved.
    real_cwd: Option<PathBuf>,
    /// The working folder, and the folders that words name.
    folders: Vec<PathBuf>,
    /// Whether words name more folders than these.
    has_more_folders: bool,
    /// Where files run that the words name.
    pub(crate) run_places: RunPlaces,
    search_path: Vec<PathBuf>,
    /// Files with settings in folders that have been looked at, by their tools.
    settings: Rc<RefCell<HashMap<PathBuf, SettingsFiles>>>,
    /// Files with settings below folders that have been looked at, by their tools. Nothing where there is too much below.
    settings_below: Rc<RefCell<HashMap<PathBuf, Option<SettingsFiles>>>>,
}

/// The files with settings of a folder, by their tools.
type SettingsFiles = HashMap<String, Vec<PathBuf>>;

/// A folder, those that words name, and those that words name from there: lines may change their folder more than once.
/// Whether there are more than are kept is told as well.
fn named_folders(candidates: &Candidates, cwd: &Path) -> (Vec<PathBuf>, bool) {
    let mut folders = vec![cwd.to_path_buf()];
    let mut real = vec![cwd.to_path_buf()];
    real.extend(codex_mounts::canonicalize(cwd));
    let words = candidates
        .all
        .iter()
        .filter_map(|candidate| match candidate {
            FileCandidate::Path(word) | FileCandidate::RecipeFolder(word) => Some(word),
            _ => None,
        });
    let words: BTreeSet<&String> = words.collect();
    let mut index = 0;
    while let Some(base) = folders.get(index).cloned() {
        let named = words.iter().flat_map(|word| folders_of(&base, word));
        for folder in named.collect::<Vec<_>>() {
            let known = codex_mounts::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
            if real.contains(&known) {
                continue;
            }
            if folders.len() >= MAX_FOLDERS {
                return (folders, true);
            }
            real.push(known);
            folders.push(folder);
        }
        index += 1;
    }
    (folders, false)
}

/// The folders that a word names, which may have a pattern in it.
fn folders_of(base: &Path, word: &str) -> Vec<PathBuf> {
    let path = base.join(word);
    let mut paths = if word.contains(['*', '?', '[']) {
        expand(&path, MAX_FILES)
    } else {
        vec![path]
    };
    paths.retain(|path| codex_mounts::is_dir(path));
    paths
}

/// The files with settings of a folder, and of the one in it for settings.
fn settings_in(folder: &Path) -> SettingsFiles {
    let mut files = SettingsFiles::new();
    for folder in [folder.to_path_buf(), folder.join(".config")] {
        let entries = codex_mounts::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries.take(20 * MAX_FILES) {
            let name = entry.file_name().to_string_lossy().into_owned();
            for tool in tools_of(&name) {
                files.entry(tool.to_owned()).or_default().push(entry.path());
            }
        }
    }
    files
}

/// The files with settings in all folders below one. Nothing if there are more entries than may be looked at.
fn settings_below(folder: &Path, mut left: usize) -> Option<SettingsFiles> {
    let mut files = SettingsFiles::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = codex_mounts::read_dir(&folder).into_iter().flatten();
        for entry in entries.flatten() {
            left = left.checked_sub(1)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !PASSED_OVER.contains(&name.as_str()) {
                folders.push(entry.path());
            }
            for tool in tools_below(&name).filter(|_| !is_folder) {
                files.entry(tool.to_owned()).or_default().push(entry.path());
            }
        }
    }
    files.values_mut().for_each(|paths| paths.sort());
    Some(files)
}

impl<'a> Finder<'a> {
    pub(crate) fn new(
        candidates: &Candidates,
        search_paths: &[String],
        place: LaunchPlace<'a>,
    ) -> Self {
        let (folders, has_more_folders) = named_folders(candidates, place.cwd);
        let own = variable(place.environment, "PATH").map(|path| path.to_os_string());
        let own = own.unwrap_or_else(|| DEFAULT_PATH.into());
        let set = search_paths.iter().map(OsString::from);
        let all: Vec<OsString> = set.chain([own]).collect();
        let search_path = all.iter().flat_map(std::env::split_paths);
        let moved = folders.iter().skip(1).filter(|_| candidates.changes_folder);
        let run_places = RunPlaces {
            folders: moved.cloned().collect(),
            has_unknown: candidates.leaves_known_folders,
        };
        Self {
            run_places,
            search_path: search_path.map(|folder| place.cwd.join(folder)).collect(),
            real_cwd: codex_mounts::canonicalize(place.cwd).ok(),
            folders,
            has_more_folders,
            place,
            settings: Rc::default(),
            settings_below: Rc::default(),
        }
    }

    /// Uses what another one knows about files with settings.
    pub(crate) fn with_settings(mut self, other: &Self) -> Self {
        self.settings = Rc::clone(&other.settings);
        self.settings_below = Rc::clone(&other.settings_below);
        self
    }

    /// How many folders a word may be in.
    pub(crate) fn folder_count(&self) -> usize {
        self.folders.len()
    }

    /// The folders of the search path that do not belong to the system.
    pub(crate) fn own_search_path(&self) -> Vec<PathBuf> {
        let folders = self.search_path.iter();
        let folders = folders.filter(|folder| {
            let real = codex_mounts::canonicalize(folder);
            real.is_ok_and(|real| !self.is_of_system(&real))
        });
        folders.cloned().collect()
    }

    pub(crate) fn home(&self) -> Option<PathBuf> {
        variable(self.place.environment, "HOME").map(PathBuf::from)
    }

    /// Adds what candidates may mean.
    pub(crate) fn add_all(&self, candidates: &[FileCandidate], found: &mut ProgramFiles) {
        for candidate in candidates {
            self.add(candidate, found);
        }
        let files = found.all.iter().filter(|file| !file.is_of_system);
        for file in files.filter(|_| !self.run_places.is_empty()) {
            let places = found.places.entry(file.path.clone()).or_default();
            places.add(&self.run_places);
        }
        if self.has_more_folders {
            let unknown = || format!("more than {MAX_FOLDERS} folders");
            found.unknown.get_or_insert_with(unknown);
        }
    }

    fn add(&self, candidate: &FileCandidate, found: &mut ProgramFiles) {
        match candidate {
            FileCandidate::Program(name) if !is_path(name) => {
                let names = file_names(name);
                let paths = self
                    .search_path
                    .iter()
                    .flat_map(|folder| names.iter().map(|name| folder.join(name)));
                let runs = |path: &PathBuf| {
                    let about = codex_mounts::metadata(path);
                    about.is_ok_and(|about| about.is_file() && may_be_run(&about))
                };
                let mut paths = paths.filter(runs);
                if let Some(path) = paths.next() {
                    self.add_path(name, path, found);
                }
            }
            FileCandidate::Program(word) | FileCandidate::Path(word) => {
                for folder in &self.folders {
                    let path = folder.join(word);
                    if word.contains(['*', '?', '[']) {
                        for path in expand(&path, MAX_FILES) {
                            let word = path.file_name().map(OsStr::to_string_lossy);
                            let word = word.unwrap_or_default().into_owned();
                            self.add_path(&word, path, found);
                        }
                    }
                    self.add_path(word, path, found);
                }
            }
            FileCandidate::Imports(module) => {
                let module = module.as_deref().map(|name| name.replace('.', "/"));
                let has_module = |folder: &&PathBuf| {
                    let path = module.as_ref().map(|module| folder.join(module));
                    path.is_some_and(|path| {
                        codex_mounts::is_dir(&path)
                            || codex_mounts::is_file(path.with_extension("py"))
                    })
                };
                let mut folders = self.folders.iter().filter(has_module).peekable();
                found.imports_nothing |= folders.peek().is_none();
                found.import_places.add(&self.run_places);
                found.import_roots.extend(self.folders.iter().cloned());
                folders.for_each(|folder| self.add_modules(folder, found));
            }
            FileCandidate::Packages => self.add_packages(self.place.cwd, found),
            FileCandidate::Folder(word) => {
                for folder in &self.folders {
                    self.add_folder(&folder.join(word), found);
                }
            }
            FileCandidate::Home(path) => {
                let path = self.home().map(|home| home.join(path));
                if let Some(path) = path.filter(|path| self.is_of_work(path)) {
                    found.push_tree(&path);
                    self.add_path("~", path, found);
                }
            }
            FileCandidate::Git(command) => drop(found.git.insert(command.clone())),
            FileCandidate::Repository(folder) => {
                for base in &self.folders {
                    self.add_repository(&base.join(folder), found);
                }
            }
            FileCandidate::Variable(name, value) => self.add_variable(name, value, found),
            FileCandidate::RecipeFile(word) => {
                for folder in &self.folders {
                    let path = folder.join(word);
                    self.add_path(word, path.clone(), found);
                    if codex_mounts::is_file(&path) {
                        found.recipe_files.insert(path);
                    }
                }
            }
            FileCandidate::Settings(tool) => self.add_settings(tool, found),
            FileCandidate::RecipeFolder(word) => {
                let folders = self.folders.iter().map(|folder| folder.join(word));
                found
                    .recipe_folders
                    .extend(folders.filter(|folder| codex_mounts::is_dir(folder)));
            }
        }
    }

    /// Adds the files with settings of a tool: in the folders that words name, around the working folder, and for some tools
    /// below it.
    fn add_settings(&self, tool: &str, found: &mut ProgramFiles) {
        let root = self.place.repository();
        let root = root.as_deref().unwrap_or(self.place.cwd);
        let around = self.place.cwd.ancestors().skip(1);
        let around = around.take_while(|folder| folder.starts_with(root));
        let mut folders = self.folders.iter().map(PathBuf::as_path).chain(around);
        let mut settings = self.settings.borrow_mut();
        folders.by_ref().for_each(|folder| {
            let known = settings
                .entry(folder.to_path_buf())
                .or_insert_with(|| settings_in(folder));
            self.add_settings_files(known, tool, found);
        });
        if !reads_settings_below(tool) {
            return;
        }
        let cwd = self.place.cwd;
        let others = self.folders.iter().map(PathBuf::as_path);
        let is_inside = |folder: &Path| {
            let real = codex_mounts::canonicalize(folder).ok();
            let cwd = self.real_cwd.as_deref();
            cwd.is_some_and(|cwd| real.is_some_and(|real| real.starts_with(cwd)))
        };
        let others = others.filter(|folder| !is_inside(folder));
        let mut known = self.settings_below.borrow_mut();
        for folder in [cwd].into_iter().chain(others) {
            let below = known
                .entry(folder.to_path_buf())
                .or_insert_with(|| settings_below(folder, MAX_ENTRIES_BELOW));
            if let Some(below) = below {
                self.add_settings_files(below, tool, found);
                continue;
            }
            let unknown = || {
                format!("more than {MAX_ENTRIES_BELOW} files in which `{tool}` may find settings")
            };
            found.unknown.get_or_insert_with(unknown);
        }
    }

    fn add_settings_files(&self, files: &SettingsFiles, tool: &str, found: &mut ProgramFiles) {
        for path in files.get(tool).into_iter().flatten() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            self.add_path(&format!("{SETTINGS_MARK}{name}"), path.clone(), found);
        }
    }

    /// Adds the settings of a repository that commands may write.
    pub(crate) fn add_repository(&self, folder: &Path, found: &mut ProgramFiles) {
        let real = |path: &Path| codex_mounts::canonicalize(path).ok();
        let own = self.place.repository();
        if own.is_some() && own.as_deref().and_then(real) == real(folder) {
            return;
        }
        for settings in [
            "config",
            ".git",
            ".git/config",
            ".git/config.worktree",
            ".git/info/attributes",
        ] {
            let path = folder.join(settings);
            self.add_path(&path.display().to_string(), path.clone(), found);
        }
        for hooks in ["hooks", ".git/hooks"] {
            self.add_folder(&folder.join(hooks), found);
        }
    }

    /// Adds what a variable names that the line sets.
    fn add_variable(&self, name: &str, value: &str, found: &mut ProgramFiles) {
        if let Some(file) = settings_file(name, value) {
            let files = self.folders.iter().map(|folder| folder.join(&file));
            found.git_files.extend(files);
        }
        let before = self.place.variable(name);
        if before.as_deref() == Some(value) {
            return;
        }
        // What the search path has anyway is looked at program by program.
        let is_known = |place: &String| {
            let mut known = before.iter().flat_map(|before| before.split(':'));
            name == "PATH" && known.any(|folder| folder == place)
        };
        for place in places(name, value)
            .into_iter()
            .filter(|place| !is_known(place))
        {
            for folder in &self.folders {
                let path = folder.join(&place);
                if codex_mounts::is_dir(&path) {
                    self.add_folder(&path, found);
                    continue;
                }
                let languages = [Language::JavaScript, Language::Ruby, Language::Perl];
                for ending in languages.into_iter().flat_map(Language::module_endings) {
                    let mut path = path.clone().into_os_string();
                    path.push(ending);
                    self.add_path(name, path.into(), found);
                }
            }
        }
    }

    /// Adds what Python may import from a folder.
    pub(crate) fn add_modules(&self, folder: &Path, found: &mut ProgramFiles) {
        let is_module = |name: &str| {
            let endings = [".py", ".pyc", ".pyd", ".so", ".pth"];
            endings.iter().any(|ending| name.ends_with(ending))
        };
        self.add_code(folder, is_module, found);
    }

    /// Adds the code that lies directly in a folder, and the first files of the packages in it.
    fn add_code(&self, folder: &Path, is_code: impl Fn(&str) -> bool, found: &mut ProgramFiles) {
        let entries = codex_mounts::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries.take(10 * MAX_FILES) {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let word = format!("{BESIDE_MARK}{name}");
            if codex_mounts::is_dir(&path) {
                let inner = path.join("__init__.py");
                self.add_path(&word, inner, found);
            } else if is_code(&name) {
                self.add_path(&word, path, found);
            }
        }
    }

    /// Adds a folder as a whole. One around the working folder cannot be: everything in it changes.
    pub(crate) fn add_folder(&self, folder: &Path, found: &mut ProgramFiles) {
        let Ok(real) = codex_mounts::canonicalize(folder) else {
            return;
        };
        if self
            .real_cwd
            .as_deref()
            .is_some_and(|cwd| cwd.starts_with(&real))
        {
            let shown = || format!("the files in `{}`", folder.display());
            found.unknown.get_or_insert_with(shown);
        } else if real.is_dir() && !self.is_of_system(&real) {
            found.push_tree(folder);
        }
    }

    /// Adds the folders with packages of JavaScript that code in a folder finds.
    pub(crate) fn add_packages(&self, folder: &Path, found: &mut ProgramFiles) {
        for folder in folder.ancestors() {
            let packages = folder.join("node_modules");
            let real = codex_mounts::canonicalize(&packages);
            if real.is_ok_and(|real| real.is_dir() && !self.is_of_system(&real)) {
                found.push_tree(&packages);
            }
        }
    }

    /// Adds a file, if it exists. A program of a virtual environment brings its packages.
    pub(crate) fn add_path(&self, word: &str, path: PathBuf, found: &mut ProgramFiles) -> bool {
        let Some(file) = self.file(word, path) else {
            return false;
        };
        let environment = file.path.parent().and_then(Path::parent);
        if let Some(environment) = environment
            && environment.join("pyvenv.cfg").is_file()
        {
            found.push_tree(environment);
        }
        found.push(file)
    }

    fn file(&self, word: &str, path: PathBuf) -> Option<ProgramFile> {
        let real = codex_mounts::canonicalize(&path).ok()?;
        if !real.is_file() {
            return None;
        }
        Some(ProgramFile {
            word: word.to_owned(),
            is_of_system: self.is_of_system(&real),
            path,
            real,
        })
    }

    /// Whether a path is below the working folder or its repository.
    pub(crate) fn is_of_work(&self, path: &Path) -> bool {
        let root = self.place.repository();
        let real = codex_mounts::canonicalize(path);
        let real = real.as_deref().unwrap_or(path);
        let folders = [self.real_cwd.as_ref(), root.as_ref()];
        folders
            .into_iter()
            .flatten()
            .any(|folder| real.starts_with(folder))
    }

    /// Whether a path with links resolved belongs to the system.
    fn is_of_system(&self, real: &Path) -> bool {
        let cwd = self.real_cwd.as_deref();
        let is_below_cwd = cwd.is_some_and(|cwd| cwd != Path::new("/") && real.starts_with(cwd));
        !is_below_cwd && is_of_system(real)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_below_too_many_entries_are_not_known() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        std::fs::write(folder.path().join("a/b/.prettierrc"), "").unwrap();
        let found = settings_below(folder.path(), 3).unwrap();
        assert_eq!(found["prettier"].len(), 1);
        assert!(settings_below(folder.path(), 2).is_none());
    }
}
