//! The hidden entries below a folder. What was listed is kept, and listed again only where it has changed.

use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_system::file;

use crate::matcher::PatternList;
use crate::stamp::Stamp;

/// The number of entries that may be searched.
pub(crate) const MAX_ENTRIES: usize = 500_000;

/// A folder that is nested deeper is hidden as a whole.
const MAX_DEPTH: usize = 128;

/// The folder of a repository's own data, which is not searched.
const REPOSITORY: &str = ".git";

/// More entries than may be searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyEntries;

/// What is hidden below a folder.
#[derive(Debug)]
pub(crate) struct FolderTree {
    root: PathBuf,
    /// How many names deep it is searched.
    depth: usize,
    lists: Vec<Arc<PatternList>>,
    folder: ListedFolder,
}

#[derive(Debug, Default)]
struct ListedFolder {
    /// None if it has to be listed again.
    stamp: Option<Stamp>,
    entries: usize,
    folders: Vec<(OsString, Self)>,
    hidden: Vec<OsString>,
    /// Nobody can list it, so that nothing is known about it.
    is_closed: bool,
}

impl FolderTree {
    /// A tree of which nothing is known yet.
    pub(crate) fn new(root: PathBuf, depth: Option<usize>, lists: Vec<Arc<PatternList>>) -> Self {
        Self {
            root,
            depth: depth.unwrap_or(usize::MAX).max(1),
            lists,
            folder: ListedFolder::default(),
        }
    }

    /// Whether it is the answer to the same question.
    pub(crate) fn answers(
        &self,
        root: &Path,
        depth: Option<usize>,
        lists: &[Arc<PatternList>],
    ) -> bool {
        let same = |(own, other): (&Arc<PatternList>, &Arc<PatternList>)| Arc::ptr_eq(own, other);
        self.root == root
            && self.depth == depth.unwrap_or(usize::MAX).max(1)
            && self.lists.len() == lists.len()
            && self.lists.iter().zip(lists).all(same)
    }

    /// Lists what has changed. Returns what is hidden now, links not resolved.
    pub(crate) fn refresh(&mut self) -> Result<Vec<PathBuf>, TooManyEntries> {
        let mut search = Search {
            lists: &self.lists,
            path: self.root.clone(),
            found: Vec::new(),
            entries: 0,
        };
        let refreshed = search.visit(&mut self.folder, self.depth, MAX_DEPTH);
        if refreshed.is_err() {
            self.folder = ListedFolder::default();
        }
        refreshed.map(|_| search.found)
    }
}

struct Search<'a> {
    lists: &'a [Arc<PatternList>],
    path: PathBuf,
    found: Vec<PathBuf>,
    entries: usize,
}

impl Search<'_> {
    /// Refreshes the folder at the path. Returns whether it is still there.
    fn visit(
        &mut self,
        folder: &mut ListedFolder,
        depth: usize,
        nesting: usize,
    ) -> Result<bool, TooManyEntries> {
        let Ok(metadata) = self.path.symlink_metadata() else {
            *folder = ListedFolder::default();
            return Ok(false);
        };
        if !metadata.is_dir() {
            *folder = ListedFolder::default();
            return Ok(false);
        }
        if nesting == 0 {
            self.found.push(self.path.clone());
            return Ok(true);
        }
        if folder.stamp != Some(Stamp::from_metadata(&metadata)) {
            self.list(folder, &metadata)?;
        }
        self.entries += folder.entries;
        if self.entries > MAX_ENTRIES {
            return Err(TooManyEntries);
        }
        if folder.is_closed {
            self.found.push(self.path.clone());
            return Ok(true);
        }
        self.found
            .extend(folder.hidden.iter().map(|name| self.path.join(name)));
        if depth == 1 {
            return Ok(true);
        }
        for (name, below) in &mut folder.folders {
            self.path.push(name);
            let visited = self.visit(below, depth - 1, nesting - 1);
            self.path.pop();
            visited?;
        }
        Ok(true)
    }

    fn list(
        &mut self,
        folder: &mut ListedFolder,
        metadata: &Metadata,
    ) -> Result<(), TooManyEntries> {
        let mut known = std::mem::take(&mut folder.folders);
        known.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        *folder = ListedFolder {
            stamp: Stamp::before_reading(metadata),
            ..ListedFolder::default()
        };
        let listed = std::fs::read_dir(&self.path).and_then(|entries| {
            for entry in entries {
                let entry = entry?;
                folder.entries += 1;
                if self.entries + folder.entries > MAX_ENTRIES {
                    return Ok(Err(TooManyEntries));
                }
                let name = entry.file_name();
                let is_folder = entry.file_type()?.is_dir();
                self.path.push(&name);
                let is_hidden = self.hides(is_folder);
                self.path.pop();
                if is_hidden {
                    folder.hidden.push(name);
                } else if is_folder && name != REPOSITORY {
                    let at = known.binary_search_by(|(other, _)| other.cmp(&name));
                    let below = at.map(|at| std::mem::take(&mut known[at].1));
                    folder.folders.push((name, below.unwrap_or_default()));
                }
            }
            Ok(Ok(()))
        });
        match listed {
            Ok(result) => result,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(_) => {
                folder.is_closed = true;
                folder.stamp = None;
                Ok(())
            }
        }
    }

    fn hides(&self, is_folder: bool) -> bool {
        let mut lists = self.lists.iter();
        lists.any(|list| list.hides_entry(&self.path, is_folder))
    }
}

/// The other names below a folder of files with these numbers: (device, number).
pub(crate) fn other_names(
    root: &Path,
    files: &[(u64, u64)],
    found: &mut Vec<PathBuf>,
) -> Result<(), TooManyEntries> {
    let mut folders = vec![root.to_owned()];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            count += 1;
            if count > MAX_ENTRIES {
                return Err(TooManyEntries);
            }
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                if entry.file_name() != REPOSITORY {
                    folders.push(entry.path());
                }
                continue;
            }
            if !files.iter().any(|(_, number)| may_have(&entry, *number)) {
                continue;
            }
            let is_same = |metadata: &Metadata| {
                files.contains(&(file::device_number(metadata), file::file_number(metadata)))
            };
            if entry.metadata().is_ok_and(|metadata| is_same(&metadata)) {
                found.push(entry.path());
            }
        }
    }
    Ok(())
}

fn may_have(entry: &std::fs::DirEntry, number: u64) -> bool {
    file::entry_number(entry).is_none_or(|own| own == number)
}
