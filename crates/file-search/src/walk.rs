//! Finds the paths below folders on several threads.
//!
//! Includes hidden files and follows links; each linked folder is entered once. Excludes paths by ignore files, git's own
//! files, and names that are not UTF-8.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use parking_lot::{Condvar, Mutex};

use crate::ignore::{IgnoreFiles, IgnoreRules, length};

/// Limit on threads. More of them would only wait for each other.
const THREADS_LIMIT: usize = 12;

/// The folders to search.
#[derive(Clone, Debug, Default)]
pub struct SearchRoots {
    /// The folders as named by the caller. Missing ones are skipped.
    pub folders: Vec<String>,
    /// Ignore files that apply in every repository.
    pub ignore_files: Vec<PathBuf>,
}

/// A visited path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundPath<'a> {
    /// The index of the root that contains it.
    pub(crate) root: usize,
    /// Relative to that root.
    pub(crate) path: &'a str,
    pub(crate) is_folder: bool,
}

/// Walks all folders. Each thread creates its visitor with `visitor`; a visitor that returns false ends the walk. Returns
/// the results of `finish` for all visitors.
pub(crate) fn walk<V: Send, T: Send>(
    roots: &SearchRoots,
    visitor: impl Fn() -> V + Sync,
    visit: impl Fn(&mut V, FoundPath<'_>) -> bool + Sync,
    finish: impl Fn(V) -> T + Sync,
) -> Vec<T> {
    let walk = FolderWalk::begin(roots);
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = threads.min(THREADS_LIMIT);
    std::thread::scope(|scope| {
        let work = || {
            let mut visitor = visitor();
            walk.work(&mut |found| visit(&mut visitor, found));
            finish(visitor)
        };
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = vec![work()];
        // A panic is already reported; the results of the other threads are still valid.
        all.extend(others.into_iter().filter_map(|other| other.join().ok()));
        all
    })
}

#[derive(Debug)]
struct FolderWalk<'a> {
    roots: &'a SearchRoots,
    /// The resolved path of each root, if it exists.
    resolved: Vec<Option<PathBuf>>,
    queue: Mutex<WalkQueue>,
    changed: Condvar,
    followed: Mutex<HashSet<PathBuf>>,
}

#[derive(Debug, Default)]
struct WalkQueue {
    folders: Vec<QueuedFolder>,
    /// Threads that may still find more folders.
    busy: usize,
    is_over: bool,
}

/// A folder to be listed.
#[derive(Debug)]
struct QueuedFolder {
    root: usize,
    /// Relative to the root, with a trailing slash unless it is the root.
    path: String,
    ignore: IgnoreRules,
}

impl<'a> FolderWalk<'a> {
    fn begin(roots: &'a SearchRoots) -> Self {
        let mut resolved: Vec<Option<PathBuf>> = Vec::new();
        for folder in &roots.folders {
            let place = codex_mounts::canonicalize(folder).ok();
            // A root that occurs twice is searched once.
            resolved.push(place.filter(|place| !resolved.contains(&Some(place.clone()))));
        }
        let last_first = resolved.iter().enumerate().rev();
        let folders = last_first
            .filter_map(|(root, place)| {
                Some(QueuedFolder {
                    root,
                    path: String::new(),
                    ignore: IgnoreRules::above(place.as_ref()?, &roots.ignore_files),
                })
            })
            .collect();
        Self {
            roots,
            resolved,
            queue: Mutex::new(WalkQueue {
                folders,
                ..WalkQueue::default()
            }),
            changed: Condvar::new(),
            followed: Mutex::default(),
        }
    }

    fn work(&self, visit: &mut impl FnMut(FoundPath<'_>) -> bool) {
        while let Some(folder) = self.next() {
            let mut turn = FolderTask::begin(self);
            turn.continues = self.list(&folder, visit, &mut turn.found);
        }
    }

    /// Waits for a folder. None when the walk is over.
    fn next(&self) -> Option<QueuedFolder> {
        let mut queue = self.queue.lock();
        loop {
            if queue.is_over {
                return None;
            }
            if let Some(folder) = queue.folders.pop() {
                queue.busy += 1;
                return Some(folder);
            }
            if queue.busy == 0 {
                return None;
            }
            self.changed.wait(&mut queue);
        }
    }

    /// Lists a folder. Returns false if a visitor ends the walk.
    fn list(
        &self,
        folder: &QueuedFolder,
        visit: &mut impl FnMut(FoundPath<'_>) -> bool,
        found: &mut Vec<QueuedFolder>,
    ) -> bool {
        let Some(place) = self.resolved.get(folder.root).and_then(Option::as_deref) else {
            return true;
        };
        let here = place.join(&folder.path);
        let Ok(listing) = codex_mounts::read_dir(&here) else {
            return true;
        };
        let mut rules = IgnoreFiles::default();
        let mut entries = Vec::new();
        for entry in listing.flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            rules.note(name.as_bytes());
            if let Ok(kind) = entry.file_type() {
                entries.push((name, kind));
            }
        }
        let ignore = folder
            .ignore
            .enter(&here, length(&here), rules, &self.roots.ignore_files);
        let start = length(place);
        let mut path = Vec::with_capacity(start + folder.path.len() + 64);
        path.extend_from_slice(place.as_os_str().as_encoded_bytes());
        path.resize(start, b'/');
        path.extend_from_slice(folder.path.as_bytes());
        let prefix = path.len();
        for (name, kind) in entries {
            path.truncate(prefix);
            path.extend_from_slice(name.as_bytes());
            let is_folder = match kind {
                kind if kind.is_symlink() => {
                    codex_mounts::metadata(here.join(&name)).is_ok_and(|at| at.is_dir())
                }
                kind => kind.is_dir(),
            };
            if name == ".git" || ignore.excludes(&path, is_folder) {
                continue;
            }
            let Ok(relative) = std::str::from_utf8(&path[start..]) else {
                continue;
            };
            let root = folder.root;
            let found_here = FoundPath {
                root,
                path: relative,
                is_folder,
            };
            if !visit(found_here) {
                return false;
            }
            if is_folder && self.is_entered(&here.join(&name), kind.is_symlink()) {
                found.push(QueuedFolder {
                    root,
                    path: format!("{relative}/"),
                    ignore: ignore.clone(),
                });
            }
        }
        true
    }

    /// Whether to enter a folder. Other roots, ancestors reached through a link, and targets of earlier links are not
    /// entered.
    fn is_entered(&self, folder: &Path, is_link: bool) -> bool {
        if !is_link {
            let is_root = |place: &Option<PathBuf>| place.as_deref() == Some(folder);
            return self.resolved.len() == 1 || !self.resolved.iter().any(is_root);
        }
        let real = |path: &Path| codex_mounts::canonicalize(path).ok();
        let (Some(target), Some(from)) = (real(folder), folder.parent().and_then(real)) else {
            return false;
        };
        if from.starts_with(&target) {
            return false;
        }
        let mut followed = self.followed.lock();
        followed.insert(target)
    }
}

/// The processing of one folder by a thread. Its drop lets the other threads continue, also after a panic.
struct FolderTask<'a> {
    walk: &'a FolderWalk<'a>,
    found: Vec<QueuedFolder>,
    continues: bool,
}

impl<'a> FolderTask<'a> {
    fn begin(walk: &'a FolderWalk<'a>) -> Self {
        Self {
            walk,
            found: Vec::new(),
            continues: false,
        }
    }
}

impl Drop for FolderTask<'_> {
    fn drop(&mut self) {
        let mut queue = self.walk.queue.lock();
        queue.busy -= 1;
        queue.is_over |= !self.continues;
        queue.folders.append(&mut self.found);
        drop(queue);
        self.walk.changed.notify_all();
    }
}
