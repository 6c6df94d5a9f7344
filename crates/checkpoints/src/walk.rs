//! Going through a folder: what every file in it is like, without reading any.
//!
//! The folders of git are left out. An ignored folder is watched if little is in it, and else named as one that is not.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Condvar, Mutex};

use crate::anchored_path::{facts, list};
use crate::fs_node::{EntryKind, FileFacts, TEMPORARY_PREFIX};
use crate::ignore_rules::IgnoreRules;
use crate::state::{NotKept, NotKeptReason};

/// The maximum number of entries of an ignored folder that is watched.
const MAX_IGNORED_ENTRIES: usize = 5_000;

/// File times are less precise than the clock.
const CLOCK_STEP: Duration = Duration::from_millis(20);

/// An entry of a folder, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: Box<OsStr>,
    pub(crate) kind: EntryKind,
    pub(crate) facts: FileFacts,
    /// Whether it lies in an ignored folder.
    pub(crate) ignored: bool,
}

impl Entry {
    /// Whether another entry has the same attributes.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.facts.mode == other.facts.mode
            && (self.kind == EntryKind::Folder
                || (self.facts.size == other.facts.size && self.facts.stamp == other.facts.stamp))
    }
}

/// All that is below a folder, at one moment.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// The entries of each folder by name, in order.
    pub(crate) folders: HashMap<PathBuf, Vec<Entry>>,
    /// What is not watched.
    pub(crate) unwatched: Vec<NotKept>,
    /// The folders with a repository in them.
    pub(crate) repositories: Vec<PathBuf>,
    /// The files that say how git treats other files.
    pub(crate) attributes: Vec<PathBuf>,
    /// A file that was changed after this moment may have the same times as before. In nanoseconds since 1970.
    pub(crate) uncertain_since: i64,
    /// The mode of the folder itself. None if it is gone.
    pub(crate) mode: Option<u32>,
}

impl Tree {
    /// Sets what is at a path.
    pub(crate) fn set(&mut self, path: &Path, entry: Option<Entry>) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        if entry.is_none() && !self.folders.contains_key(folder) {
            return;
        }
        let entries = self.folders.entry(folder.to_owned()).or_default();
        let at = entries.binary_search_by(|entry| (*entry.name).cmp(name));
        match (at, entry) {
            (Ok(at), Some(entry)) => entries[at] = entry,
            (Err(at), Some(entry)) => entries.insert(at, entry),
            (Ok(at), None) => drop(entries.remove(at)),
            (Err(_), None) => {}
        }
    }

    pub(crate) fn is_unwatched(&self, path: &Path) -> bool {
        self.unwatched
            .iter()
            .any(|unwatched| path.starts_with(&unwatched.path))
    }
}

/// Why a folder was not gone through.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WalkError {
    /// It has too many files, or takes too long.
    #[error("the folder is too large to be watched")]
    TooLarge,
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The limits of a walk.
#[derive(Clone, Debug)]
pub(crate) struct WalkLimits {
    pub(crate) max_entries: usize,
    pub(crate) max_time: Duration,
    /// A folder that is left out.
    pub(crate) excluded: PathBuf,
}

/// Goes through a folder on several threads.
pub(crate) fn walk(root: &Path, limits: &WalkLimits) -> Result<Tree, WalkError> {
    let now = SystemTime::now() - CLOCK_STEP;
    let since = now.duration_since(SystemTime::UNIX_EPOCH);
    let since = since.map_or(0, |since| since.as_nanos());
    let facts = match codex_mounts::symlink_metadata(root) {
        Ok(found) if found.is_dir() => facts(root)?,
        Ok(_) => return Ok(Tree::default()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Tree::default()),
        Err(error) => return Err(WalkError::Io(error)),
    };
    let walk = Walk {
        limits,
        device: facts.device,
        deadline: Instant::now() + limits.max_time,
        queue: Mutex::new(Queue {
            folders: vec![PendingFolder {
                path: root.to_owned(),
                rules: IgnoreRules::around(root),
            }],
            busy: 0,
        }),
        changed: Condvar::new(),
        entries: AtomicUsize::new(0),
        given_up: AtomicBool::new(false),
    };
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get().min(8));
    let trees: Vec<Tree> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| walk.work())).collect();
        let trees = workers.into_iter().map(|worker| worker.join());
        trees.map(Result::unwrap_or_default).collect()
    });
    if walk.given_up.load(Ordering::Relaxed) {
        return Err(WalkError::TooLarge);
    }
    let mut all = Tree {
        uncertain_since: i64::try_from(since).unwrap_or(i64::MAX),
        mode: Some(facts.mode),
        ..Tree::default()
    };
    for tree in trees {
        if all.folders.is_empty() {
            all.folders = tree.folders;
        } else {
            all.folders.extend(tree.folders);
        }
        all.unwatched.extend(tree.unwatched);
        all.repositories.extend(tree.repositories);
        all.attributes.extend(tree.attributes);
    }
    all.unwatched.sort();
    all.repositories.sort();
    Ok(all)
}

struct PendingFolder {
    path: PathBuf,
    rules: Arc<IgnoreRules>,
}

struct Queue {
    folders: Vec<PendingFolder>,
    /// Threads that may add to them.
    busy: usize,
}

struct Walk<'a> {
    limits: &'a WalkLimits,
    device: u64,
    deadline: Instant,
    queue: Mutex<Queue>,
    changed: Condvar,
    entries: AtomicUsize,
    given_up: AtomicBool,
}

impl Walk<'_> {
    fn work(&self) -> Tree {
        let mut tree = Tree::default();
        let mut queue = self.queue.lock();
        loop {
            if let Some(next) = queue.folders.pop() {
                queue.busy += 1;
                drop(queue);
                let found = self.visit(next, &mut tree);
                queue = self.queue.lock();
                queue.folders.extend(found);
                queue.busy -= 1;
                self.changed.notify_all();
            } else if queue.busy == 0 || self.given_up.load(Ordering::Relaxed) {
                return tree;
            } else {
                self.changed.wait(&mut queue);
            }
        }
    }

    /// Reads one folder. Returns those in it.
    fn visit(&self, pending: PendingFolder, tree: &mut Tree) -> Vec<PendingFolder> {
        let PendingFolder { path, rules } = pending;
        let is_over = Instant::now() > self.deadline;
        if is_over || self.given_up.load(Ordering::Relaxed) {
            self.given_up.store(true, Ordering::Relaxed);
            return Vec::new();
        }
        let Ok(listing) = read_folder(&path, false) else {
            tree.unwatched.push(NotKept {
                path,
                reason: NotKeptReason::Unreadable,
            });
            return Vec::new();
        };
        let count = self
            .entries
            .fetch_add(listing.entries.len(), Ordering::Relaxed);
        if count + listing.entries.len() > self.limits.max_entries {
            self.given_up.store(true, Ordering::Relaxed);
            return Vec::new();
        }
        if listing.has_repository {
            tree.repositories.push(path.clone());
        }
        let rules = rules.inside(&path, listing.has_repository, &listing.entries);
        if listing.has(OsStr::new(".gitattributes")) {
            tree.attributes.push(path.join(".gitattributes"));
        }
        let mut found = Vec::new();
        for entry in &listing.entries {
            if entry.kind != EntryKind::Folder {
                continue;
            }
            let folder = path.join(&*entry.name);
            if folder == self.limits.excluded {
                continue;
            }
            if entry.facts.device != self.device {
                tree.unwatched.push(NotKept {
                    path: folder,
                    reason: NotKeptReason::OtherFileSystem,
                });
            } else if rules.ignores_folder(&folder) {
                self.visit_ignored(folder, tree);
            } else {
                found.push(PendingFolder {
                    path: folder,
                    rules: Arc::clone(&rules),
                });
            }
        }
        tree.folders.insert(path, listing.entries);
        found
    }

    /// Reads an ignored folder with everything in it, if that is little.
    fn visit_ignored(&self, folder: PathBuf, tree: &mut Tree) {
        let mut pending = vec![folder.clone()];
        let mut read = Vec::new();
        let mut count = 0;
        let mut reason = None;
        while let Some(path) = pending.pop() {
            let Ok(listing) = read_folder(&path, true) else {
                reason = Some(NotKeptReason::Unreadable);
                break;
            };
            count += listing.entries.len();
            if count > MAX_IGNORED_ENTRIES {
                reason = Some(NotKeptReason::IgnoredFolder);
                break;
            }
            let folders = listing.entries.iter();
            let folders = folders.filter(|entry| {
                entry.kind == EntryKind::Folder && entry.facts.device == self.device
            });
            pending.extend(folders.map(|entry| path.join(&*entry.name)));
            if listing.has_repository {
                tree.repositories.push(path.clone());
            }
            read.push((path, listing.entries));
        }
        self.entries.fetch_add(count, Ordering::Relaxed);
        match reason {
            Some(reason) => tree.unwatched.push(NotKept {
                path: folder,
                reason,
            }),
            None => tree.folders.extend(read),
        }
    }
}

struct Listing {
    entries: Vec<Entry>,
    has_repository: bool,
}

impl Listing {
    fn has(&self, name: &OsStr) -> bool {
        let at = self
            .entries
            .binary_search_by(|entry| (*entry.name).cmp(name));
        at.is_ok()
    }
}

fn read_folder(path: &Path, ignored: bool) -> std::io::Result<Listing> {
    let mut has_repository = false;
    let listed = list(path, |name| {
        if name == ".git" {
            has_repository = codex_project_markers::has_entry(path, ".git");
            return false;
        }
        // While commands run, the sandbox has empty folders with these names.
        let may_be_placeholder = name == ".codex" || name == ".agents";
        let is_temporary = name
            .as_encoded_bytes()
            .starts_with(TEMPORARY_PREFIX.as_bytes());
        !is_temporary
            && (!may_be_placeholder
                || codex_project_markers::has_entry(path, &name.to_string_lossy()))
    })?;
    let mut entries: Vec<_> = listed
        .into_iter()
        .map(|entry| Entry {
            name: entry.name,
            kind: entry.kind,
            facts: entry.facts,
            ignored,
        })
        .collect();
    entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(Listing {
        entries,
        has_repository,
    })
}
