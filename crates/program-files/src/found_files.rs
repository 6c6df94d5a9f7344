//! The files that decide what is run: their contents, and whether something may write them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::content::{self, ContentError};
use crate::folder::{self, FolderTree};
use crate::run_places::RunPlaces;

/// The limit on the files of a program.
pub(crate) const MAX_FILES: usize = 512;
/// Begins the words of files that other files refer to.
pub(crate) const FOLLOWED_MARK: char = '>';

/// Begins the words of modules beside a script, which something may import.
pub(crate) const BESIDE_MARK: &str = ">*";

/// Begins the words of files with settings, which are read wherever they are found.
pub(crate) const SETTINGS_MARK: char = '=';

/// A file that is run, or that is given to what is run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramFile {
    /// The word that names it.
    pub(crate) word: String,
    /// The path that the word means.
    pub path: PathBuf,
    /// The same with links resolved.
    pub real: PathBuf,
    /// Whether it is a program of the system.
    pub(crate) is_of_system: bool,
}

/// The files that decide what is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramFiles {
    pub(crate) all: Vec<ProgramFile>,
    /// Folders with packages, all of whose files count.
    pub(crate) trees: Vec<FolderTree>,
    /// Whether Python must not import from the working folder, so that no module there counts.
    pub(crate) imports_nothing: bool,
    /// Whether there are more files than are kept.
    pub(crate) has_more: bool,
    /// The search paths that scripts set.
    pub(crate) search_paths: Vec<String>,
    /// The recipes of the folder that are asked for.
    pub(crate) recipes: BTreeSet<String>,
    /// Files with recipes, whatever their names.
    pub(crate) recipe_files: BTreeSet<PathBuf>,
    /// Folders in which recipes are run.
    pub(crate) recipe_folders: BTreeSet<PathBuf>,
    /// The commands of git that are run.
    pub(crate) git: BTreeSet<String>,
    /// Settings of git that lines name.
    pub(crate) git_files: BTreeSet<PathBuf>,
    /// Where Python may import from the folder in which it runs.
    pub(crate) import_places: RunPlaces,
    /// The folders from which Python imports if it runs no script.
    pub(crate) import_roots: BTreeSet<PathBuf>,
    /// Where the files run, apart from the working folder.
    pub(crate) places: BTreeMap<PathBuf, RunPlaces>,
    /// A word that may name a file to run, and that is not known before.
    pub unknown: Option<String>,
}

impl ProgramFiles {
    /// A file that has not been found yet.
    pub(crate) fn push(&mut self, file: ProgramFile) -> bool {
        if let Some(known) = self.all.iter_mut().find(|known| known.path == file.path) {
            if known.word.starts_with(BESIDE_MARK) && !file.word.starts_with(BESIDE_MARK) {
                known.word = file.word;
            }
            return false;
        }
        if self.all.len() >= MAX_FILES {
            self.has_more = true;
            return false;
        }
        self.all.push(file);
        true
    }

    /// Adds what a script leads to.
    pub(crate) fn take_in(&mut self, part: Self) {
        for file in part.all {
            self.push(file);
        }
        for tree in part.trees {
            if !self.trees.contains(&tree) {
                self.trees.push(tree);
            }
        }
        for (path, places) in part.places {
            self.places.entry(path).or_default().add(&places);
        }
        self.imports_nothing |= part.imports_nothing;
        self.import_places.add(&part.import_places);
        self.import_roots.extend(part.import_roots);
        self.has_more |= part.has_more;
        self.recipes.extend(part.recipes);
        self.recipe_files.extend(part.recipe_files);
        self.recipe_folders.extend(part.recipe_folders);
        self.git.extend(part.git);
        self.git_files.extend(part.git_files);
        self.unknown = self.unknown.take().or(part.unknown);
    }

    /// Adds what was found for a part of the same start.
    pub(crate) fn join(&mut self, part: Self) {
        self.all.extend(part.all);
        self.trees.extend(part.trees);
        for (path, places) in part.places {
            self.places.entry(path).or_default().add(&places);
        }
        self.imports_nothing |= part.imports_nothing;
        self.import_places.add(&part.import_places);
        self.import_roots.extend(part.import_roots);
        self.search_paths.extend(part.search_paths);
        self.recipes.extend(part.recipes);
        self.recipe_files.extend(part.recipe_files);
        self.recipe_folders.extend(part.recipe_folders);
        self.git.extend(part.git);
        self.git_files.extend(part.git_files);
        self.has_more |= part.has_more;
        self.unknown = self.unknown.take().or(part.unknown);
    }

    /// Of a program with too many files, the folders of those that its words name count as a whole. A folder around the working
    /// folder cannot: everything in it changes.
    pub(crate) fn replace_by_folders(&mut self, cwd: &Path) {
        let named = self.all.iter().filter(|file| !file.is_of_system);
        let named = named.filter(|file| !file.word.starts_with(FOLLOWED_MARK));
        let folders = named.filter_map(|file| file.real.parent().map(Path::to_path_buf));
        let cwd = codex_mounts::canonicalize(cwd).unwrap_or_else(|_| cwd.to_path_buf());
        for folder in folders.collect::<BTreeSet<_>>() {
            if cwd.starts_with(&folder) {
                let unknown = || format!("more than {MAX_FILES} files");
                self.unknown.get_or_insert_with(unknown);
            } else {
                self.push_tree(&folder);
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Marks the words of the files from this one on.
    pub(crate) fn mark_followed(&mut self, from: usize, mark: char) {
        for file in self.all.iter_mut().skip(from) {
            file.word.insert(0, mark);
        }
    }

    pub(crate) fn file_at(&self, index: usize) -> Option<&ProgramFile> {
        self.all.get(index)
    }

    pub(crate) fn push_tree(&mut self, folder: &Path) {
        if let Some(tree) = FolderTree::resolve(folder)
            && !self.trees.contains(&tree)
        {
            self.trees.push(tree);
        }
    }

    /// The files outside of a folder.
    #[must_use]
    pub fn outside_of(mut self, folder: &Path) -> Self {
        let real = codex_mounts::canonicalize(folder);
        let folder = real.as_deref().unwrap_or(folder);
        self.all.retain(|file| !file.real.starts_with(folder));
        self.trees.retain(|tree| !tree.real.starts_with(folder));
        self
    }

    /// Variables that keep what is run to these files. `home` is the home folder of the engine.
    #[must_use]
    pub fn variables(
        &self,
        home: &Path,
        path: Option<&OsStr>,
        may_write: &dyn Fn(&Path) -> bool,
    ) -> Vec<(OsString, OsString)> {
        // Compiled Python is otherwise read beside its source, where commands may write.
        let compiled = home.join("pycache").into_os_string();
        let mut variables = vec![("PYTHONPYCACHEPREFIX".into(), compiled)];
        if self.imports_nothing {
            variables.push(("PYTHONSAFEPATH".into(), "1".into()));
        }
        let path = self.safe_search_path(path, may_write);
        variables.extend(path.map(|path| ("PATH".into(), path)));
        variables
    }

    /// The search path without the folders that something may write, unless one has a program that is run: other programs
    /// would come first there. None if it stays as it is.
    fn safe_search_path(
        &self,
        path: Option<&OsStr>,
        may_write: &dyn Fn(&Path) -> bool,
    ) -> Option<OsString> {
        let folders: Vec<PathBuf> = std::env::split_paths(path?).collect();
        let is_safe = |folder: &PathBuf| {
            let real = codex_mounts::canonicalize(folder);
            let is_writable = may_write(folder) || real.is_ok_and(|real| may_write(&real));
            let is_used = || {
                let mut all = self.all.iter();
                all.any(|file| file.path.parent() == Some(folder))
            };
            folder.is_absolute() && (!is_writable || is_used())
        };
        let safe: Vec<&PathBuf> = folders.iter().filter(|folder| is_safe(folder)).collect();
        if safe.len() == folders.len() {
            return None;
        }
        std::env::join_paths(safe).ok()
    }

    /// All files, those of the system too.
    pub fn all(&self) -> impl Iterator<Item = &ProgramFile> {
        self.all.iter()
    }

    /// The files that do not belong to the system.
    pub fn own(&self) -> impl Iterator<Item = &ProgramFile> {
        self.all.iter().filter(|file| !file.is_of_system)
    }

    /// The files of the system that something may write.
    pub fn writable_system_file(&self, may_write: impl Fn(&Path) -> bool) -> Option<&Path> {
        let mut system = self.all.iter().filter(|file| file.is_of_system);
        let found = system.find(|file| may_write(&file.real));
        found.map(|file| file.real.as_path())
    }

    /// The paths that must stay as they are, by their names and by what these lead to.
    #[must_use]
    pub fn protected_paths(&self) -> Vec<PathBuf> {
        let files = self
            .own()
            .flat_map(|file| [file.path.clone(), file.real.clone()]);
        let trees = self
            .trees
            .iter()
            .flat_map(|tree| [tree.path.clone(), tree.real.clone()]);
        let mut paths: Vec<PathBuf> = files.chain(trees).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The paths of the files that do not belong to the system, and of folders with packages.
    pub(crate) fn own_paths(&self) -> BTreeSet<PathBuf> {
        let trees = self.trees.iter().map(|tree| tree.path.clone());
        self.own()
            .map(|file| file.path.clone())
            .chain(trees)
            .collect()
    }

    /// The hash of one of these paths.
    pub(crate) fn hash_of(&self, path: &Path) -> Result<Option<String>, ContentError> {
        let file = self.all.iter().find(|file| file.path == path);
        let tree = self.trees.iter().find(|tree| tree.path == path);
        let hash = match (file, tree) {
            (Some(file), _) => content::hash_of(&file.real)?,
            (None, Some(tree)) => folder::hash_of(tree)?,
            (None, None) => return Ok(None),
        };
        Ok(Some(content::shown(&hash)))
    }

    /// A hash of the contents of the files that do not belong to the system; none if there are none.
    ///
    /// # Errors
    /// A file cannot be read, or is too large.
    pub fn content_hash(&self) -> Result<Option<String>, ContentError> {
        let mut digest = Sha256::new();
        let mut is_empty = true;
        for file in self.own() {
            is_empty = false;
            digest.update(file.word.as_bytes());
            digest.update([0]);
            digest.update(content::hash_of(&file.real)?);
        }
        for tree in &self.trees {
            is_empty = false;
            digest.update(folder::hash_of(tree)?);
        }
        Ok((!is_empty).then(|| content::shown(&digest.finalize().into())))
    }

    /// The first file that something may write, by its path or by what the path leads to.
    pub fn first_writable(&self, may_write: impl Fn(&Path) -> bool) -> Option<&Path> {
        let files = self.all.iter().map(|file| (&file.path, &file.real));
        let trees = self.trees.iter().map(|tree| (&tree.path, &tree.real));
        let mut all = files.chain(trees);
        let found = all.find(|(path, real)| may_write(path) || may_write(real));
        found.map(|(path, _)| path.as_path())
    }

    pub(crate) fn finish(mut self) -> Self {
        self.all.sort();
        self.all
            .dedup_by(|one, other| one.word == other.word && one.real == other.real);
        self.trees.sort();
        self.trees.dedup();
        self
    }
}
