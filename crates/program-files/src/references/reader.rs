//! What is known of the files while their references are followed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use crate::effort::Effort;
use crate::finder::Finder;
use crate::python_imports::ModuleName;
use crate::run_places::RunPlaces;

/// The entries of a folder, by their names and by their names without endings.
pub(super) type Listing = HashMap<String, Vec<PathBuf>>;

/// The modules that files import, and from where.
#[derive(Default)]
pub(super) struct ImportedModules {
    pub(super) all: Vec<(PathBuf, ModuleName)>,
    /// The folders from which they are imported.
    pub(super) roots: Vec<PathBuf>,
    /// The files whose imports are known.
    pub(super) files: HashSet<PathBuf>,
    /// How many of the modules and of the folders have been looked at together.
    pub(super) done: (usize, usize),
}

impl ImportedModules {
    pub(super) fn add_roots(&mut self, roots: impl IntoIterator<Item = PathBuf>) {
        for root in roots {
            if !self.roots.contains(&root) {
                self.roots.push(root);
            }
        }
    }
}

/// Reads files, one after the other, and keeps what it learns.
pub(super) struct ReferenceReader<'a> {
    pub(super) finder: &'a Finder<'a>,
    pub(super) listings: HashMap<PathBuf, Listing>,
    pub(super) search_path: Vec<PathBuf>,
    /// Whether the text that is read runs text, so that files count whatever their names are.
    pub(super) runs_text: bool,
    /// The files that compute what they run, and how.
    pub(super) computed: Vec<(PathBuf, String)>,
    /// Files with recipes, and their texts.
    pub(super) recipe_files: Vec<(PathBuf, String)>,
    /// The files that run what is not known before, and what.
    pub(super) uncertain: Vec<(PathBuf, String)>,
    /// Files, and what they run.
    pub(super) run_by: Vec<(PathBuf, PathBuf)>,
    /// The folders that a file changes to itself.
    pub(super) moves: BTreeMap<PathBuf, RunPlaces>,
    /// Files with code of a language, which may share a process.
    pub(super) code_files: BTreeSet<PathBuf>,
    /// The modules that code of Python imports.
    pub(super) modules: ImportedModules,
    /// Functions of code that start what they get as arguments, for other code to call.
    pub(super) starters: BTreeSet<String>,
    /// Which of them were known when files with code were read.
    pub(super) known_starters: HashMap<PathBuf, BTreeSet<String>>,
    /// Scripts, and those that they read as a part of themselves.
    pub(super) sourced: BTreeSet<(PathBuf, PathBuf)>,
    /// Where files were run when they were read.
    pub(super) places: BTreeMap<PathBuf, RunPlaces>,
    /// Scripts and lines that have been read, and the files that have them.
    pub(super) scripts: HashSet<(PathBuf, String, bool)>,
    /// How many files have been read again.
    pub(super) read_again: usize,
    pub(super) effort: Effort,
    /// The file that is read.
    pub(super) source: PathBuf,
}
