//! Copies files before commands can change them, within limits. Files that git can give back are not copied.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::content::{Content, CopyBudget, stored};
use crate::copy_file::CopyFile;
use crate::fs_node::{EntryKind, FsNode};
use crate::known_repository::{KnownRepository, innermost, is_object};
use crate::observe::node_at;
use crate::state::NotKeptReason;
use crate::store::CheckpointStore;
use crate::walk::{Entry, Tree};

/// Larger files are stored at once.
const MAX_COPY_BYTES: u64 = 1024 * 1024;

/// Fewer files are copied by one thread.
const MIN_SHARED: usize = 64;

/// A file or link whose content may have to be copied.
pub(crate) struct Candidate<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) entry: &'a Entry,
}

/// Copies files before a command runs.
pub(crate) struct Copier<'a> {
    pub(crate) repositories: &'a [KnownRepository],
    pub(crate) copies: &'a CopyFile,
    pub(crate) store: &'a CheckpointStore,
}

impl Copier<'_> {
    /// The files and links of which git cannot give the content back for certain.
    pub(crate) fn candidates<'t>(&self, tree: &'t Tree) -> Vec<Candidate<'t>> {
        let mut found = Vec::new();
        for (folder, entries) in &tree.folders {
            let repository = innermost(self.repositories, folder);
            let known = repository.and_then(|at| self.repositories.get(at));
            let wanted = entries.iter().filter(|entry| match (entry.kind, known) {
                (EntryKind::Link, _) | (EntryKind::File, None) => true,
                (EntryKind::File, Some(known)) => {
                    let path = folder.join(&*entry.name);
                    known.certain(&path, &entry.facts).is_none()
                }
                (EntryKind::Folder | EntryKind::Special, _) => false,
            });
            found.extend(wanted.map(|entry| Candidate { folder, entry }));
        }
        found
    }

    /// Copies files within the limits, small ones first, and ignored ones last. Some threads share the work.
    pub(crate) fn copies(&self, mut candidates: Vec<Candidate<'_>>) -> Vec<(PathBuf, Content)> {
        candidates.sort_by_key(|it| (it.entry.ignored, it.entry.facts.size));
        let budget = CopyBudget::for_store(self.store);
        let next = AtomicUsize::new(0);
        let copy = || {
            let mut found = Vec::new();
            while let Some(candidate) = candidates.get(next.fetch_add(1, Ordering::Relaxed)) {
                let Candidate { folder, entry } = candidate;
                let is_spent = entry.kind == EntryKind::File && budget.is_spent(entry.facts.size);
                if is_spent && innermost(self.repositories, folder).is_none() {
                    continue;
                }
                let path = folder.join(&*entry.name);
                let content = self.content_of(&path, &budget);
                found.push((path, content));
            }
            found
        };
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(4));
        if candidates.len() < MIN_SHARED {
            return copy();
        }
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(copy)).collect();
            let found = workers.into_iter().map(|worker| worker.join());
            found.flat_map(Result::unwrap_or_default).collect()
        })
    }

    /// Where the content of a file or link can be had. It is copied, unless git has it.
    fn content_of(&self, path: &Path, budget: &CopyBudget) -> Content {
        let (mut file, size) = match open_regular(path) {
            Ok(opened) => opened,
            Err(content) => return content,
        };
        let repository = path
            .parent()
            .and_then(|folder| innermost(self.repositories, folder));
        let likely = repository.and_then(|at| {
            let object = self.repositories[at].likely(path, size)?;
            Some((at, object))
        });
        if let Some((repository, object)) = likely
            && size <= self.store.limits().max_file_bytes
            && budget.take_compared(size)
        {
            let compared = read(&mut file, size).and_then(|bytes| {
                file.rewind()?;
                Ok(bytes.is_some_and(|bytes| is_object(&bytes, object)))
            });
            match compared {
                Ok(true) => return Content::Tracked { repository, object },
                Ok(false) => {}
                Err(_) => return Content::NotKept(NotKeptReason::Unreadable),
            }
        }
        self.copied(&mut file, size, budget)
    }

    /// Copies a file, if the limits allow it. A large one is stored.
    fn copied(&self, file: &mut File, size: u64, budget: &CopyBudget) -> Content {
        if let Some(reason) = over_limits(size, budget, self.store) {
            return Content::NotKept(reason);
        }
        let copy = if size <= MAX_COPY_BYTES {
            self.copy(file, size)
        } else {
            Ok(None)
        };
        match copy {
            Ok(Some(content)) => content,
            Ok(None) => store_file(file, self.store),
            Err(_) => Content::NotKept(NotKeptReason::Unreadable),
        }
    }

    /// None if there is no room for the copy.
    fn copy(&self, file: &mut File, size: u64) -> io::Result<Option<Content>> {
        let copy = match read(file, size)? {
            Some(bytes) => self.copies.add(&bytes)?,
            None => None,
        };
        file.rewind()?;
        Ok(copy.map(Content::Copied))
    }
}

/// Opens a regular file and returns its size, or the content of what is there instead.
pub(crate) fn open_regular(path: &Path) -> Result<(File, u64), Content> {
    match node_at(path) {
        Ok(FsNode::File(file, facts)) => Ok((file, facts.size)),
        Ok(FsNode::Link(target)) => Err(Content::Link(target)),
        Ok(_) | Err(_) => Err(Content::NotKept(NotKeptReason::Unreadable)),
    }
}

/// Copies a file into the store, if the limits allow it.
pub(crate) fn copied(
    file: &mut File,
    size: u64,
    budget: &CopyBudget,
    store: &CheckpointStore,
) -> Content {
    match over_limits(size, budget, store) {
        Some(reason) => Content::NotKept(reason),
        None => store_file(file, store),
    }
}

/// Why a file of this size is not copied; if it is, the budget is reduced.
fn over_limits(size: u64, budget: &CopyBudget, store: &CheckpointStore) -> Option<NotKeptReason> {
    if size > store.limits().max_file_bytes {
        return Some(NotKeptReason::TooLarge);
    }
    (!budget.take(size)).then_some(NotKeptReason::Limit)
}

fn store_file(file: &mut File, store: &CheckpointStore) -> Content {
    let limit = store.limits().max_file_bytes;
    stored(store.blobs.put_file(file, limit).map(|(hash, _)| hash))
}

/// Reads a file. None if it has more than `limit` bytes.
pub(crate) fn read(file: &mut File, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::state::ContentHash;
    use crate::store::CheckpointLimits;

    #[test]
    fn no_more_is_read_than_the_limit_allows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"four").unwrap();
        let read = |limit| super::read(&mut File::open(&path).unwrap(), limit).unwrap();
        assert_eq!(read(4).unwrap(), b"four");
        assert_eq!(read(5).unwrap(), b"four");
        assert_eq!(read(3), None);
        assert_eq!(
            super::read(&mut File::open("/dev/zero").unwrap(), 1_000).unwrap(),
            None
        );
    }

    #[test]
    fn copies_skip_links_and_large_files() {
        let base = tempfile::tempdir().unwrap();
        let base = dunce::canonicalize(base.path()).unwrap();
        let limits = CheckpointLimits {
            max_file_bytes: 10,
            max_copied_bytes: 12,
            ..CheckpointLimits::default()
        };
        let store = CheckpointStore::new(&base.join("home"), limits);
        store.prepare().unwrap();
        let budget = CopyBudget::for_store(&store);
        let content = |name: &str, bytes: &[u8]| {
            let path = base.join(name);
            fs::write(&path, bytes).unwrap();
            let (mut file, size) = open_regular(&path).unwrap();
            copied(&mut file, size, &budget, &store)
        };
        let hash = ContentHash::compute(b"ten bytes.");
        assert!(matches!(content("fits", b"ten bytes."), Content::Stored(it) if it == hash));
        assert!(matches!(
            content("large", b"eleven byte"),
            Content::NotKept(NotKeptReason::TooLarge)
        ));
        assert!(matches!(
            content("rest", b"abc"),
            Content::NotKept(NotKeptReason::Limit)
        ));
        std::os::unix::fs::symlink("rest", base.join("link")).unwrap();
        assert!(matches!(
            open_regular(&base.join("link")),
            Err(Content::Link(target)) if target == Path::new("rest")
        ));
        assert!(matches!(
            open_regular(&base.join("gone")),
            Err(Content::NotKept(NotKeptReason::Unreadable))
        ));
    }
}
