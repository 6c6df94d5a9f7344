//! A cache of the skills of all requested folders, refreshed when files change.

use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use codex_protocol::{SkillErrorInfo, SkillScope};
use parking_lot::Mutex;

use crate::load::{Root, Rule, Skills, load_from};
use crate::watch::Watcher;

/// How often the files are read again because new folders appear.
const READS: usize = 3;

/// Limit on cached folders.
const LIMIT: usize = 256;

/// Where to find the skills of a folder, and the rules about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The roots. If several lead to the same skill, the first applies.
    pub roots: Vec<Root>,
    /// The rules. Later ones take precedence.
    pub rules: Vec<Rule>,
}

/// Determines the roots and rules for a folder.
pub type Source = dyn Fn(&Path) -> Result<Sources, String> + Send + Sync;

/// Called when skills have changed.
type Listener = dyn Fn() + Send + Sync;

/// The skills of all requested folders, cached and watched.
pub struct Library {
    source: Box<Source>,
    state: Mutex<State>,
    watcher: Mutex<Option<Watcher>>,
}

#[derive(Default)]
struct State {
    /// Skills by folder and additional roots.
    kept: HashMap<(PathBuf, Vec<PathBuf>), Arc<Skills>>,
    /// Additional roots of the user for all folders.
    further: Vec<PathBuf>,
    /// Counts changes, so that results read before a change are not cached after it.
    changes: u64,
    listeners: Vec<Arc<Listener>>,
}

impl Debug for Library {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Library").finish_non_exhaustive()
    }
}

impl Library {
    /// A library that asks `source` for roots. It watches them from their first use on.
    pub fn new(
        source: impl Fn(&Path) -> Result<Sources, String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new_cyclic(|library: &Weak<Self>| {
            let library = library.clone();
            let changed = move || {
                if let Some(library) = library.upgrade() {
                    library.changed();
                }
            };
            Self {
                source: Box::new(source),
                state: Mutex::default(),
                watcher: Mutex::new(Watcher::start(changed)),
            }
        })
    }

    /// Replaces the additional roots of the user for all folders. They need not exist. Listeners are called.
    pub fn set_further_roots(&self, roots: Vec<PathBuf>) {
        self.state.lock().further = roots;
        self.changed();
    }

    /// Calls `listener` after skill files have changed. It must not block.
    pub fn on_change(&self, listener: impl Fn() + Send + Sync + 'static) {
        self.state.lock().listeners.push(Arc::new(listener));
    }

    /// The skills of a folder, if they are cached.
    pub fn known(&self, folder: &Path) -> Option<Arc<Skills>> {
        let key = (folder.to_path_buf(), Vec::new());
        self.state.lock().kept.get(&key).cloned()
    }

    /// The skills of a folder and of additional roots. Reads files if they are not cached.
    pub fn skills(&self, folder: &Path, further: &[PathBuf]) -> Arc<Skills> {
        let mut asked = further.to_vec();
        asked.sort();
        let key = (folder.to_path_buf(), asked);
        let (changes, mut further) = {
            let state = self.state.lock();
            if let Some(skills) = state.kept.get(&key) {
                return Arc::clone(skills);
            }
            (state.changes, state.further.clone())
        };
        further.extend_from_slice(&key.1);
        let skills = Arc::new(self.read(folder, &further));
        let mut state = self.state.lock();
        if state.changes == changes {
            if state.kept.len() >= LIMIT {
                state.kept.clear();
            }
            state.kept.insert(key, Arc::clone(&skills));
        }
        skills
    }

    fn read(&self, folder: &Path, further: &[PathBuf]) -> Skills {
        let failed = |message: String| Skills {
            errors: vec![SkillErrorInfo {
                path: folder.display().to_string(),
                message,
            }],
            ..Skills::default()
        };
        if !folder.is_absolute() {
            return failed("the folder must be an absolute path".to_owned());
        }
        let mut sources = match (self.source)(folder) {
            Ok(sources) => sources,
            Err(message) => return failed(message),
        };
        sources.roots.extend(further.iter().map(|path| Root {
            path: path.clone(),
            scope: SkillScope::User,
            trusted: true,
        }));
        // Read again if folders were not watched during the first read, so that no change is missed.
        let mut watcher = self.watcher.lock();
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

    const PATIENCE: Duration = Duration::from_secs(20);

    fn library(root: &Path) -> Arc<Library> {
        let root = Root {
            path: root.to_path_buf(),
            scope: SkillScope::User,
            trusted: true,
        };
        Library::new(move |folder| {
            if folder.ends_with("bad") {
                Err("no such project".to_owned())
            } else {
                Ok(Sources {
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

    fn names(skills: &Skills) -> Vec<&str> {
        let names = skills.all.iter().map(|skill| skill.metadata.name.as_str());
        names.collect()
    }

    #[test]
    fn a_change_of_a_file_is_noticed_and_told() {
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
            changes.recv_timeout(PATIENCE).expect("the change is told");
        }
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
            changes.recv_timeout(PATIENCE).expect("the change is told");
        }
    }

    #[test]
    fn further_roots_are_for_those_who_name_them() {
        let (root, further) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(further.path(), "more");
        let library = library(root.path());
        let folder = Path::new("/work");
        let more = [further.path().to_path_buf()];
        assert_eq!(names(&library.skills(folder, &more)), ["more"]);
        assert!(names(&library.skills(folder, &[])).is_empty());
    }

    #[test]
    fn a_folder_that_cannot_be_told_about_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let library = library(root.path());
        for folder in ["relative", "/bad"] {
            let skills = library.skills(Path::new(folder), &[]);
            assert_eq!(skills.errors[0].path, folder);
        }
    }
}
