//! A cache of the skills of all requested folders, refreshed when files change.

use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use codex_protocol::{SkillErrorInfo, SkillScope};
use parking_lot::Mutex;

use crate::load::{SkillRoot, SkillSet, SkillToggle, folders_below, load_from};
use crate::watch::FolderWatcher;

/// How often the files are read again because new folders appear.
const READS: usize = 3;

/// Limit on cached folders.
const LIMIT: usize = 256;

/// Where to find the skills of a folder, and the rules about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillSources {
    /// The roots. If several lead to the same skill, the first applies.
    pub roots: Vec<SkillRoot>,
    /// The rules. Later ones take precedence.
    pub rules: Vec<SkillToggle>,
}

/// Why the roots and rules of a folder cannot be determined, for example because its configuration is invalid.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

/// Determines the roots and rules for a folder.
pub type RootSource = dyn Fn(&Path) -> Result<SkillSources, SourceError> + Send + Sync;

/// Called when skills have changed.
type ChangeListener = dyn Fn() + Send + Sync;

/// The skills of all requested folders, cached and watched.
pub struct SkillLibrary {
    source: Box<RootSource>,
    state: Mutex<LibraryState>,
    /// Started when there is something to watch, because it has a thread of its own. None if watching is not supported.
    watcher: OnceLock<Option<Mutex<FolderWatcher>>>,
    this: Weak<Self>,
}

#[derive(Default)]
struct LibraryState {
    /// Skills by folder and additional roots.
    kept: HashMap<(PathBuf, Vec<PathBuf>), Arc<SkillSet>>,
    /// Additional roots of the user for all folders.
    additional: Vec<PathBuf>,
    /// Counts changes, so that results read before a change are not cached after it.
    changes: u64,
    listeners: Vec<Arc<ChangeListener>>,
}

impl Debug for SkillLibrary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Library").finish_non_exhaustive()
    }
}

impl SkillLibrary {
    /// A library that asks `source` for roots. It watches them from their first use on.
    pub fn new(
        source: impl Fn(&Path) -> Result<SkillSources, SourceError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            source: Box::new(source),
            state: Mutex::default(),
            watcher: OnceLock::new(),
            this: this.clone(),
        })
    }

    fn watcher(&self) -> Option<&Mutex<FolderWatcher>> {
        let start = || {
            let library = self.this.clone();
            let changed = move || {
                if let Some(library) = library.upgrade() {
                    library.changed();
                }
            };
            FolderWatcher::start(changed).map(Mutex::new)
        };
        self.watcher.get_or_init(start).as_ref()
    }

    /// Replaces the additional roots of the user for all folders. They need not exist. Listeners are called.
    pub fn set_additional_roots(&self, roots: Vec<PathBuf>) {
        self.state.lock().additional = roots;
        self.changed();
    }

    /// Calls `listener` after skill files have changed. It must not block.
    pub fn on_change(&self, listener: impl Fn() + Send + Sync + 'static) {
        self.state.lock().listeners.push(Arc::new(listener));
    }

    /// The skills of a folder, if they are cached.
    pub fn known(&self, folder: &Path) -> Option<Arc<SkillSet>> {
        let key = (folder.to_path_buf(), Vec::new());
        self.state.lock().kept.get(&key).cloned()
    }

    /// The skills of a folder and of additional roots. Reads files if they are not cached.
    pub fn skills(&self, folder: &Path, additional: &[PathBuf]) -> Arc<SkillSet> {
        self.watch_and_read(folder, additional, || {})
    }

    /// The skills of these roots alone, with the rules for a folder. They are neither cached nor watched.
    pub fn skills_of_roots(&self, folder: &Path, roots: &[SkillRoot]) -> SkillSet {
        let rules = (self.source)(folder).map(|sources| sources.rules);
        load_from(roots, &rules.unwrap_or_default()).0
    }

    /// Like [`Self::skills`]. Calls `watched` before it reads: from then on listeners are called after each change.
    pub fn watch_and_read(
        &self,
        folder: &Path,
        additional: &[PathBuf],
        watched: impl FnOnce(),
    ) -> Arc<SkillSet> {
        let mut asked = additional.to_vec();
        asked.sort();
        let key = (folder.to_path_buf(), asked);
        let (changes, mut additional) = {
            let state = self.state.lock();
            if let Some(skills) = state.kept.get(&key) {
                return Arc::clone(skills);
            }
            (state.changes, state.additional.clone())
        };
        additional.extend_from_slice(&key.1);
        let skills = Arc::new(self.read(folder, &additional, watched));
        let mut state = self.state.lock();
        if state.changes == changes {
            if state.kept.len() >= LIMIT {
                state.kept.clear();
            }
            state.kept.insert(key, Arc::clone(&skills));
        }
        skills
    }

    fn read(&self, folder: &Path, additional: &[PathBuf], watched: impl FnOnce()) -> SkillSet {
        let failed = |message: String| SkillSet {
            errors: vec![SkillErrorInfo {
                path: folder.display().to_string(),
                message,
            }],
            ..SkillSet::default()
        };
        let mut sources = match (self.source)(folder) {
            Ok(sources) => sources,
            Err(error) => return failed(error.to_string()),
        };
        sources
            .roots
            .extend(additional.iter().map(|path| SkillRoot {
                path: path.clone(),
                scope: SkillScope::User,
                trusted: true,
                plugin: None,
            }));
        // Watched before they are read, and read again if there are new folders, so that no change is missed.
        let mut watcher = self.watcher().map(Mutex::lock);
        if let Some(watcher) = &mut watcher {
            watcher.watch(folders_below(&sources.roots));
        }
        watched();
        for _ in 0..READS {
            let (skills, folders) = load_from(&sources.roots, &sources.rules);
            let has_new = watcher
                .as_mut()
                .is_some_and(|watcher| watcher.watch(folders));
            if !has_new {
                return skills;
            }
        }
        drop(watcher);
        load_from(&sources.roots, &sources.rules).0
    }

    /// Clears the cache.
    pub fn forget(&self) {
        let mut state = self.state.lock();
        state.changes += 1;
        state.kept.clear();
    }

    fn changed(&self) {
        self.forget();
        let listeners = self.state.lock().listeners.clone();
        listeners.iter().for_each(|listener| listener());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    const TEST_TIMEOUT: Duration = Duration::from_secs(20);

    fn library(root: &Path) -> Arc<SkillLibrary> {
        let root = SkillRoot {
            path: root.to_path_buf(),
            scope: SkillScope::User,
            trusted: true,
            plugin: None,
        };
        SkillLibrary::new(move |folder| {
            if folder.ends_with("bad") {
                Err(SourceError("no such project".to_owned()))
            } else {
                Ok(SkillSources {
                    roots: vec![root.clone()],
                    rules: Vec::new(),
                })
            }
        })
    }

    fn write(folder: &Path, name: &str) {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        let text = format!("---\nname: {name}\ndescription: x\n---\n");
        fs::write(folder.join("SKILL.md"), text).unwrap();
    }

    fn names(skills: &SkillSet) -> Vec<&str> {
        let names = skills.all.iter().map(|skill| skill.metadata.name.as_str());
        names.collect()
    }

    #[test]
    fn skill_file_change_is_noticed_and_reported() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "one");
        let library = library(root.path());
        let (sender, changes) = mpsc::channel();
        library.on_change(move || {
            let _ = sender.send(());
        });
        let folder = Path::new("/work");
        assert_eq!(names(&library.skills(folder, &[])), ["one"]);
        assert!(library.known(folder).is_some());
        write(root.path(), "two");
        while names(&library.skills(folder, &[])) != ["one", "two"] {
            changes
                .recv_timeout(TEST_TIMEOUT)
                .expect("the change is told");
        }
    }

    #[test]
    fn change_during_a_skill_read_is_reported() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "one");
        let library = library(root.path());
        let (sender, changes) = mpsc::channel();
        library.on_change(move || {
            let _ = sender.send(());
        });
        let watched = || write(root.path(), "two");
        let skills = library.watch_and_read(Path::new("/work"), &[], watched);
        assert_eq!(names(&skills), ["one", "two"]);
        changes
            .recv_timeout(TEST_TIMEOUT)
            .expect("the change is told");
    }

    #[test]
    fn a_root_that_appears_later_is_noticed() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("skills");
        let library = library(&root);
        let (sender, changes) = mpsc::channel();
        library.on_change(move || {
            let _ = sender.send(());
        });
        let folder = Path::new("/work");
        assert!(library.skills(folder, &[]).all.is_empty());
        write(&root, "one");
        while names(&library.skills(folder, &[])) != ["one"] {
            changes
                .recv_timeout(TEST_TIMEOUT)
                .expect("the change is told");
        }
    }

    #[test]
    fn further_roots_are_for_those_who_name_them() {
        let (root, additional) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(additional.path(), "more");
        let library = library(root.path());
        let folder = Path::new("/work");
        let more = [additional.path().to_path_buf()];
        assert_eq!(names(&library.skills(folder, &more)), ["more"]);
        assert!(names(&library.skills(folder, &[])).is_empty());
    }

    #[test]
    fn unwatchable_folder_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let library = library(root.path());
        let skills = library.skills(Path::new("/bad"), &[]);
        assert_eq!(skills.errors[0].path, "/bad");
    }
}
