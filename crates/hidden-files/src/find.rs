//! Which hidden files exist now.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use codex_system::file;
use parking_lot::Mutex;

use crate::folder_tree::{FolderTree, MAX_ENTRIES, TooManyEntries, other_names};
use crate::ignore_file::IgnoreFiles;
use crate::matcher::{PatternList, PatternOwner};
use crate::pattern::{PatternError, PatternPlace};
use crate::rules::{HidingRules, WorkspaceFolder};
use crate::stamp::Stamp;

/// The number of paths that a sandbox may have to hide.
const MAX_HIDDEN: usize = 1_000;

/// The number of folders whose hidden files are kept.
const KEPT_TREES: usize = 64;

/// Why it is not known what has to be hidden.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error(
        "files that {setting} hides cannot be found: there are more than {MAX_ENTRIES} entries in {folder}; \
         make its patterns narrower"
    )]
    TooManyEntries { setting: String, folder: String },
    #[error(
        "{setting} hides more than {MAX_HIDDEN} files and folders; name the folders that they are in"
    )]
    TooManyHidden { setting: String },
    #[error("{file} is unusable, so its whole folder is hidden: {problem}")]
    IgnoreFile { file: String, problem: String },
    #[error("the files that {setting} hides are unknown, so access is refused: {problem}")]
    Settings { setting: String, problem: String },
    #[error("{setting} hides {path}, in which commands run")]
    Workspace { setting: String, path: String },
    #[error(transparent)]
    Unanswered(#[from] codex_mounts::NoAnswer),
}

/// A path that exists and is hidden, links resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenPath {
    pub path: PathBuf,
    pub owner: PatternOwner,
}

/// Makes the lists when they are first needed.
type MakeLists = Box<dyn FnOnce() -> Vec<Arc<PatternList>> + Send>;

/// The patterns of a session, and what was found by them.
#[derive(Debug)]
pub struct HiddenFiles {
    lists: LazyLock<Vec<Arc<PatternList>>, MakeLists>,
    ignore_files: IgnoreFiles,
    trees: Mutex<Vec<FolderTree>>,
    other_names: Mutex<Option<KnownNames>>,
    recent: Mutex<Arc<[HiddenPath]>>,
}

/// The further names of hidden files.
#[derive(Debug)]
struct KnownNames {
    files: Vec<(PathBuf, Option<Stamp>)>,
    roots: Vec<PathBuf>,
    found: Vec<PathBuf>,
}

impl Default for HiddenFiles {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl HiddenFiles {
    /// With these lists, and those of projects.
    #[must_use]
    pub fn new(lists: Vec<Arc<PatternList>>) -> Self {
        Self::made_when_needed(|| Ok(lists))
    }

    /// The same, with lists that are made when they are first needed: before the first command of a session is run. Links are
    /// followed then. If they cannot be made, everything is hidden.
    #[must_use]
    pub fn made_when_needed(
        make: impl FnOnce() -> Result<Vec<Arc<PatternList>>, PatternError> + Send + 'static,
    ) -> Self {
        let make = || {
            let lists = make().unwrap_or_else(|error| {
                vec![PatternList::of_unknown_settings(&error.to_string()).into()]
            });
            let lists = lists.into_iter().filter(|list| !list.is_empty());
            lists.collect()
        };
        Self {
            lists: LazyLock::new(Box::new(make)),
            ignore_files: IgnoreFiles::default(),
            trees: Mutex::default(),
            other_names: Mutex::default(),
            recent: Mutex::new(Arc::from([])),
        }
    }

    /// Where it is not known what settings hide: everything is hidden, and nothing can be found.
    #[must_use]
    pub fn unknown(problem: &str) -> Self {
        Self::new(vec![PatternList::of_unknown_settings(problem).into()])
    }

    /// The patterns that apply in a workspace.
    #[must_use]
    pub fn rules(&self, workspace: &[WorkspaceFolder]) -> HidingRules {
        let mut rules = HidingRules {
            lists: LazyLock::force(&self.lists).clone(),
            ..HidingRules::default()
        };
        for folder in workspace {
            let real = |path: &Path| codex_mounts::canonicalize(path).ok();
            let (Some(inner), Some(top)) = (real(&folder.folder), real(&folder.top)) else {
                continue;
            };
            for folder in inner
                .ancestors()
                .take_while(|folder| folder.starts_with(&top))
            {
                let Some(list) = self.ignore_files.of_folder(folder) else {
                    continue;
                };
                let PatternOwner::Project(file) = &list.owner else {
                    continue;
                };
                if !rules.ignore_files.contains(file) {
                    rules.ignore_files.push(file.clone());
                    if !list.is_empty() {
                        rules.lists.push(list);
                    }
                }
            }
            if !rules.tops.contains(&top) {
                rules.tops.push(top);
            }
        }
        rules
    }

    /// What was found last.
    #[must_use]
    pub fn recent(&self) -> Arc<[HiddenPath]> {
        Arc::clone(&self.recent.lock())
    }

    /// The hidden files that exist, of all owners. Those that are in a hidden folder are not listed one by one.
    ///
    /// # Errors
    /// It cannot be found out.
    pub fn find(&self, rules: &HidingRules) -> Result<Vec<HiddenPath>, FindError> {
        for list in &rules.lists {
            if let Some(problem) = &list.mistake {
                let (name, problem) = (list.owner.name(), problem.clone());
                return Err(match list.owner {
                    PatternOwner::Project(_) => FindError::IgnoreFile {
                        file: name,
                        problem,
                    },
                    _ => FindError::Settings {
                        setting: name,
                        problem,
                    },
                });
            }
        }
        let mut found = Vec::new();
        let mut searched: Vec<(PathBuf, Option<usize>)> = Vec::new();
        for list in &rules.lists {
            for place in &list.places {
                match place {
                    PatternPlace::Path(path) => {
                        let metadata = codex_mounts::symlink_metadata(path);
                        let is_hidden = |is_folder| list.hides(path, is_folder);
                        if metadata.is_ok_and(|metadata| is_hidden(metadata.is_dir())) {
                            found.push(path.clone());
                        }
                    }
                    PatternPlace::Below(folder, depth) => {
                        if let Ok(folder) = codex_mounts::canonicalize(folder) {
                            add_root(&mut searched, folder, *depth);
                        }
                    }
                    PatternPlace::Workspace => {
                        for top in &rules.tops {
                            add_root(&mut searched, top.clone(), None);
                        }
                    }
                }
            }
        }
        for (root, depth) in &searched {
            found.extend(self.search(root, *depth, rules)?);
        }
        let mut real: Vec<PathBuf> = (found.iter())
            .filter_map(|path| codex_mounts::canonicalize(path).ok())
            .collect();
        real.sort();
        real.dedup();
        let mut hidden: Vec<HiddenPath> = Vec::new();
        for path in self.with_other_names(real, &searched, rules)? {
            // In order, so that folders come before what is in them.
            if hidden.iter().any(|outer| path.starts_with(&outer.path)) {
                continue;
            }
            let owner = owner_of(&path, &found, rules);
            if rules.tops.iter().any(|top| top.starts_with(&path)) {
                if owner == PatternOwner::BuiltIn {
                    continue;
                }
                return Err(FindError::Workspace {
                    setting: owner.name(),
                    path: path.display().to_string(),
                });
            }
            hidden.push(HiddenPath { path, owner });
            if hidden.len() > MAX_HIDDEN {
                let last = hidden.last().map(|last| last.owner.name());
                return Err(FindError::TooManyHidden {
                    setting: last.unwrap_or_default(),
                });
            }
        }
        let mut recent = self.recent.lock();
        if **recent != *hidden {
            *recent = hidden.clone().into();
        }
        Ok(hidden)
    }

    fn search(
        &self,
        root: &Path,
        depth: Option<usize>,
        rules: &HidingRules,
    ) -> Result<Vec<PathBuf>, FindError> {
        codex_mounts::check_below(root)?;
        let mut trees = self.trees.lock();
        let at = trees
            .iter()
            .position(|tree| tree.answers(root, depth, &rules.lists));
        let at = at.unwrap_or_else(|| {
            if trees.len() >= KEPT_TREES {
                trees.clear();
            }
            trees.push(FolderTree::new(root.to_owned(), depth, rules.lists.clone()));
            trees.len() - 1
        });
        trees[at]
            .refresh()
            .map_err(|TooManyEntries| too_many(root, rules))
    }

    /// The paths, and other names of the same files in the folders that are searched.
    fn with_other_names(
        &self,
        mut paths: Vec<PathBuf>,
        searched: &[(PathBuf, Option<usize>)],
        rules: &HidingRules,
    ) -> Result<Vec<PathBuf>, FindError> {
        let mut files = Vec::new();
        let mut numbers = Vec::new();
        for path in &paths {
            let Ok(metadata) = codex_mounts::symlink_metadata(path) else {
                continue;
            };
            if file::has_other_names(&metadata) {
                numbers.push((file::device_number(&metadata), file::file_number(&metadata)));
                files.push((path.clone(), Stamp::before_reading(&metadata)));
            }
        }
        if files.is_empty() {
            return Ok(paths);
        }
        let mut roots = rules.tops.clone();
        roots.extend(
            searched
                .iter()
                .filter(|(_, depth)| depth.is_none())
                .map(|(root, _)| root.clone()),
        );
        roots.sort();
        roots.dedup();
        let mut known = self.other_names.lock();
        let is_known = known.as_ref().is_some_and(|known| {
            known.roots == roots
                && known.files == files
                && files.iter().all(|(_, stamp)| stamp.is_some())
        });
        if !is_known {
            let mut found = Vec::new();
            for root in &roots {
                let names = other_names(root, &numbers, &mut found);
                names.map_err(|TooManyEntries| too_many(root, rules))?;
            }
            *known = Some(KnownNames {
                files,
                roots,
                found,
            });
        }
        paths.extend(known.iter().flat_map(|known| known.found.iter().cloned()));
        paths.sort();
        paths.dedup();
        Ok(paths)
    }
}

/// Adds a folder to search, unless one around it is searched as deep.
fn add_root(searched: &mut Vec<(PathBuf, Option<usize>)>, folder: PathBuf, depth: Option<usize>) {
    let covers = |outer: &(PathBuf, Option<usize>), inner: &(PathBuf, Option<usize>)| {
        inner.0.starts_with(&outer.0)
            && match (outer.1, inner.1) {
                (None, _) => true,
                (Some(outer_depth), Some(depth)) => outer.0 == inner.0 && outer_depth >= depth,
                (Some(_), None) => false,
            }
    };
    let new = (folder, depth);
    if searched.iter().any(|known| covers(known, &new)) {
        return;
    }
    searched.retain(|known| !covers(&new, known));
    searched.push(new);
}

/// Who hides a path. A path that only a link or another name leads to has the owner of nothing less than settings.
fn owner_of(path: &Path, found: &[PathBuf], rules: &HidingRules) -> PatternOwner {
    let is_folder = codex_mounts::is_dir(path);
    let by = |path: &Path| {
        let strongest = |list: &&Arc<PatternList>| list.hides(path, is_folder);
        let owners: Vec<_> = rules
            .lists
            .iter()
            .filter(strongest)
            .map(|list| list.owner.clone())
            .collect();
        strictest(owners)
    };
    if let Some(owner) = by(path) {
        return owner;
    }
    let links = found
        .iter()
        .filter(|link| codex_mounts::canonicalize(link).is_ok_and(|real| real == path));
    let owners = links.filter_map(|link| by(link)).collect();
    strictest(owners).unwrap_or_else(|| strictest_list(rules))
}

fn strictest(owners: Vec<PatternOwner>) -> Option<PatternOwner> {
    owners.into_iter().max_by_key(PatternOwner::strictness)
}

fn strictest_list(rules: &HidingRules) -> PatternOwner {
    let owners = rules.lists.iter().map(|list| list.owner.clone()).collect();
    strictest(owners).unwrap_or(PatternOwner::Settings)
}

fn too_many(root: &Path, rules: &HidingRules) -> FindError {
    let searches = |list: &&Arc<PatternList>| {
        list.places.iter().any(|place| match place {
            PatternPlace::Workspace => true,
            PatternPlace::Below(folder, depth) => depth.is_none() && folder.starts_with(root),
            PatternPlace::Path(_) => false,
        })
    };
    let list = rules.lists.iter().find(searches);
    FindError::TooManyEntries {
        setting: list.map_or_else(String::new, |list| list.owner.name()),
        folder: root.display().to_string(),
    }
}
