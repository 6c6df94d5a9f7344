//! A folder in which the effects of commands are watched: what is in it, and where the content of each file can be had.
//!
//! Files that git can give back are not copied. Others are, within limits, before a command can change them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use codex_git::ObjectId;

use crate::content::{Content, CopyBudget};
use crate::copy_file::{CopyFile, FileCopy};
use crate::copying::{Candidate, Copier, copied, open_regular, read};
use crate::fs_node::{EntryKind, FileFacts, FsNode};
use crate::known_repository::{KnownRepository, innermost, is_object};
use crate::manifest::FileChange;
use crate::observe::{file_state, not_kept, reason_of};
use crate::state::{ContentHash, FileState, NotKept, NotKeptReason};
use crate::store::CheckpointStore;
use crate::walk::{Entry, Tree, WalkError, WalkLimits, walk};

/// More repositories in one folder are not asked.
const MAX_REPOSITORIES: usize = 16;
/// How much git is asked for after a command.
const MAX_FETCHED_BYTES: u64 = 256 * 1024 * 1024;
/// How many files are read again that may have changed while the folder was walked.
const MAX_UNCERTAIN: usize = 2_000;

/// A folder, what was in it when it was last walked, and the known contents of its files by path.
#[derive(Debug)]
pub(crate) struct WatchedFolder {
    root: PathBuf,
    tree: Tree,
    contents: HashMap<PathBuf, Content>,
    copies: CopyFile,
    repositories: Vec<KnownRepository>,
}

/// A path that has changed.
struct Difference {
    path: PathBuf,
    old: Option<Entry>,
    new: Option<Entry>,
}

/// What a command has changed.
#[derive(Debug, Default)]
pub(crate) struct FolderChanges {
    pub(crate) files: Vec<FileChange>,
    /// What has changed besides and cannot be brought back.
    pub(crate) not_kept: Vec<NotKept>,
}

/// What is known of a file before it changed.
enum Before {
    Known(FileState),
    /// Git has it.
    Tracked {
        repository: usize,
        object: ObjectId,
        facts: FileFacts,
    },
}

impl WatchedFolder {
    /// Begins to watch a folder.
    pub(crate) fn begin(root: &Path, store: &CheckpointStore) -> Result<Self, WalkError> {
        let mut watched = Self {
            root: root.to_owned(),
            tree: walk_root(root, store)?,
            contents: HashMap::new(),
            copies: CopyFile::new(store.blobs.scratch(), 2 * store.limits().max_copied_bytes),
            repositories: Vec::new(),
        };
        watched.find_repositories(store);
        let copier = Copier {
            repositories: &watched.repositories,
            copies: &watched.copies,
            store,
        };
        let contents = copier.copies(copier.candidates(&watched.tree));
        watched.contents.extend(contents);
        Ok(watched)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// What is not watched in it.
    pub(crate) fn unwatched(&self) -> &[NotKept] {
        &self.tree.unwatched
    }

    fn find_repositories(&mut self, store: &CheckpointStore) {
        let around = codex_project_markers::marked_folder(&self.root, ".git").map(Path::to_owned);
        let inside = self.tree.repositories.iter().cloned();
        for folder in around.into_iter().chain(inside) {
            let is_known = self.repositories.iter().any(|known| known.top() == folder);
            if is_known || self.repositories.len() >= MAX_REPOSITORIES {
                continue;
            }
            let scratch = store.blobs.scratch();
            let found = KnownRepository::around(&folder, &self.tree.attributes, scratch);
            self.repositories.extend(found);
        }
    }

    /// Walks the folder again without recording: what has changed since the last walk was changed by somebody else.
    pub(crate) fn catch_up(&mut self, store: &CheckpointStore) -> Result<(), WalkError> {
        let tree = walk_root(&self.root, store)?;
        let differences = self.differences(&tree, store);
        self.tree = tree;
        self.refresh_repositories(store);
        let mut changed = Vec::new();
        for Difference { path, new, .. } in differences {
            self.contents.remove(&path);
            let Some(entry) = new else { continue };
            let repository = path
                .parent()
                .and_then(|folder| innermost(&self.repositories, folder));
            let is_certain = repository
                .is_some_and(|at| self.repositories[at].certain(&path, &entry.facts).is_some());
            match entry.kind {
                EntryKind::File if is_certain => {}
                EntryKind::File | EntryKind::Link => changed.push((path, entry)),
                EntryKind::Folder | EntryKind::Special => {}
            }
        }
        let candidates = changed.iter().filter_map(|(path, entry)| {
            let folder = path.parent()?;
            Some(Candidate { folder, entry })
        });
        let copier = Copier {
            repositories: &self.repositories,
            copies: &self.copies,
            store,
        };
        let contents = copier.copies(candidates.collect());
        self.contents.extend(contents);
        Ok(())
    }

    /// New objects come from the index as it is now; those of files that were certain stay in the repository.
    fn refresh_repositories(&mut self, store: &CheckpointStore) {
        if self.repositories.iter().all(KnownRepository::is_current) {
            return self.find_repositories(store);
        }
        // What the old index was certain about may not be in the new one.
        let folders = self.tree.folders.iter();
        let mut known = Vec::new();
        for (folder, entries) in folders {
            let Some(at) = innermost(&self.repositories, folder) else {
                continue;
            };
            for entry in entries.iter().filter(|entry| entry.kind == EntryKind::File) {
                let path = folder.join(&*entry.name);
                if !self.contents.contains_key(&path)
                    && let Some(object) = self.repositories[at].certain(&path, &entry.facts)
                {
                    known.push((path, at, object, entry.facts));
                }
            }
        }
        let attributes = self.tree.attributes.clone();
        for repository in &mut self.repositories {
            repository.refresh(&attributes, store.blobs.scratch());
        }
        for (path, repository, object, facts) in known {
            if self.repositories[repository].certain(&path, &facts) != Some(object) {
                self.contents
                    .insert(path, Content::Tracked { repository, object });
            }
        }
        self.find_repositories(store);
    }

    /// Walks the folder again after a command. Returns what has changed.
    pub(crate) fn changes(
        &mut self,
        store: &CheckpointStore,
        item: Option<&str>,
    ) -> Result<FolderChanges, WalkError> {
        let tree = walk_root(&self.root, store)?;
        let not_kept = self.other_repositories(&tree);
        let differences = self.differences(&tree, store);
        let befores = self.befores(&differences, store);
        let budget = CopyBudget::for_store(store);
        let mut changes: Vec<FileChange> = self.change_of_root(&tree, item).into_iter().collect();
        let mut order: Vec<usize> = (0..differences.len()).collect();
        let size = |at: usize| differences[at].new.as_ref().map_or(0, |new| new.facts.size);
        order.sort_by_key(|at| size(*at));
        let mut befores: Vec<Option<FileState>> = befores.into_iter().map(Some).collect();
        for at in order {
            let (difference, before) = (&differences[at], befores[at].take());
            let before = before.unwrap_or(FileState::Missing);
            let after = self.after(difference, &budget, store);
            if before != after {
                changes.push(FileChange {
                    path: difference.path.clone(),
                    before,
                    after,
                    item: item.map(str::to_owned),
                    is_certain: false,
                });
            }
        }
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        self.tree = tree;
        let files = changes;
        Ok(FolderChanges { files, not_kept })
    }

    fn change_of_root(&self, new: &Tree, item: Option<&str>) -> Option<FileChange> {
        let state = |tree: &Tree| match tree.mode {
            Some(mode) => FileState::Folder { mode },
            None => FileState::Missing,
        };
        (self.tree.mode != new.mode).then(|| FileChange {
            path: self.root.clone(),
            before: state(&self.tree),
            after: state(new),
            item: item.map(str::to_owned),
            is_certain: false,
        })
    }

    /// Repositories that were made or removed, which no restore changes.
    fn other_repositories(&self, new: &Tree) -> Vec<NotKept> {
        let (old, new) = (&self.tree.repositories, &new.repositories);
        let made = new.iter().filter(|folder| !old.contains(folder));
        let removed = old.iter().filter(|folder| !new.contains(folder));
        let changed = made.chain(removed).map(|folder| NotKept {
            path: folder.join(".git"),
            reason: NotKeptReason::Repository,
        });
        changed.collect()
    }

    /// Sets what is at a path after a patch, of which the change is known already.
    pub(crate) fn set(&mut self, path: &Path, found: &FsNode, state: &FileState) {
        if !path.starts_with(&self.root) || path == self.root || self.tree.is_unwatched(path) {
            return;
        }
        let (kind, facts) = match found {
            FsNode::File(_, facts) => (EntryKind::File, *facts),
            FsNode::Folder(facts) => (EntryKind::Folder, *facts),
            // A patch makes neither links nor devices.
            FsNode::Link(_) | FsNode::Special | FsNode::Missing => {
                self.contents.remove(path);
                return self.tree.set(path, None);
            }
        };
        let entry = Entry {
            name: path.file_name().unwrap_or_default().into(),
            kind,
            facts,
            ignored: false,
        };
        match state {
            FileState::File { hash, .. } => {
                self.contents
                    .insert(path.to_owned(), Content::Stored(*hash));
            }
            FileState::NotKept { reason, .. } => {
                self.contents
                    .insert(path.to_owned(), Content::NotKept(*reason));
            }
            _ => drop(self.contents.remove(path)),
        }
        if kind == EntryKind::Folder {
            self.tree.folders.entry(path.to_owned()).or_default();
        }
        self.tree.set(path, Some(entry));
    }

    fn differences(&self, new: &Tree, store: &CheckpointStore) -> Vec<Difference> {
        let mut found = Vec::new();
        let mut uncertain = MAX_UNCERTAIN;
        let budget = CopyBudget::for_store(store);
        let no_entries = Vec::new();
        let gone = self.tree.folders.keys();
        let gone = gone.filter(|folder| !new.folders.contains_key(*folder));
        for folder in new.folders.keys().chain(gone) {
            let old_entries = self.tree.folders.get(folder).unwrap_or(&no_entries);
            let new_entries = new.folders.get(folder).unwrap_or(&no_entries);
            compare(old_entries, new_entries, |name, old, new| {
                let path = folder.join(name);
                if let (Some(old), Some(new)) = (old, new)
                    && old.is_like(new)
                {
                    let is_certain = old.kind != EntryKind::File
                        || old.facts.stamp.changed < self.tree.uncertain_since
                        || uncertain == 0;
                    if is_certain || {
                        uncertain -= 1;
                        self.is_as_stored(&path, &budget, store)
                    } {
                        return;
                    }
                }
                found.push(Difference {
                    path,
                    old: old.cloned(),
                    new: new.cloned(),
                });
            });
        }
        found.retain(|difference| {
            !self.tree.is_unwatched(&difference.path) && !new.is_unwatched(&difference.path)
        });
        found
    }

    /// Whether a file has the content that is known of it. What is not known, too large or cannot be read counts as
    /// unchanged.
    fn is_as_stored(&self, path: &Path, budget: &CopyBudget, store: &CheckpointStore) -> bool {
        let Some(known) = self.contents.get(path) else {
            return true;
        };
        if matches!(known, Content::Link(_) | Content::NotKept(_)) {
            return true;
        }
        let Ok((mut file, size)) = open_regular(path) else {
            return false;
        };
        if size > store.limits().max_file_bytes || !budget.take_compared(size) {
            return true;
        }
        match (known, read(&mut file, size)) {
            (_, Ok(None)) => false,
            (Content::Stored(hash) | Content::Copied(FileCopy { hash, .. }), Ok(Some(bytes))) => {
                ContentHash::compute(&bytes) == *hash
            }
            (Content::Tracked { object, .. }, Ok(Some(bytes))) => is_object(&bytes, *object),
            _ => true,
        }
    }

    /// What was at the paths before, in their order.
    fn befores(&self, differences: &[Difference], store: &CheckpointStore) -> Vec<FileState> {
        let known: Vec<Before> = differences
            .iter()
            .map(|difference| self.before(difference, store))
            .collect();
        let mut by_repository: BTreeMap<usize, Vec<(usize, ObjectId, FileFacts)>> = BTreeMap::new();
        let mut states = Vec::with_capacity(known.len());
        for (at, before) in known.into_iter().enumerate() {
            match before {
                Before::Known(state) => states.push(state),
                Before::Tracked {
                    repository,
                    object,
                    facts,
                } => {
                    let wanted = by_repository.entry(repository).or_default();
                    wanted.push((at, object, facts));
                    states.push(not_kept(&facts, NotKeptReason::Limit));
                }
            }
        }
        for (repository, mut wanted) in by_repository {
            wanted.sort_by_key(|(_, _, facts)| facts.size);
            let mut room = MAX_FETCHED_BYTES;
            wanted.retain(|(_, _, facts)| {
                let fits = facts.size <= room && facts.size <= store.limits().max_file_bytes;
                room = if fits { room - facts.size } else { room };
                fits
            });
            let objects: Vec<(ObjectId, u64)> = wanted
                .iter()
                .map(|(_, object, facts)| (*object, facts.size))
                .collect();
            let repository = &self.repositories[repository];
            repository.contents(&objects, store.blobs.scratch(), |index, content| {
                let (at, _, facts) = &wanted[index];
                states[*at] = match content.map(|content| store.blobs.put(&content)) {
                    Some(Ok(hash)) => file_state(hash, facts),
                    Some(Err(error)) => not_kept(facts, reason_of(&error)),
                    None => not_kept(facts, NotKeptReason::Converted),
                };
            });
        }
        states
    }

    fn before(&self, difference: &Difference, store: &CheckpointStore) -> Before {
        let Some(old) = &difference.old else {
            return Before::Known(FileState::Missing);
        };
        let path = &difference.path;
        let facts = old.facts;
        match (old.kind, self.contents.get(path)) {
            (EntryKind::Folder, _) => Before::Known(FileState::Folder { mode: facts.mode }),
            (EntryKind::Link, Some(Content::Link(target))) => Before::Known(FileState::Link {
                target: target.clone(),
            }),
            (EntryKind::Link | EntryKind::Special, _) => Before::Known(FileState::Special),
            (EntryKind::File, _) if self.has_other_names(difference) => {
                Before::Known(not_kept(&facts, NotKeptReason::HardLink))
            }
            (EntryKind::File, Some(Content::Stored(hash))) => {
                Before::Known(file_state(*hash, &facts))
            }
            (EntryKind::File, Some(Content::Copied(copy))) => {
                Before::Known(match self.store_copy(*copy, store) {
                    Ok(hash) => file_state(hash, &facts),
                    Err(reason) => not_kept(&facts, reason),
                })
            }
            (EntryKind::File, Some(Content::NotKept(reason))) => {
                Before::Known(not_kept(&facts, *reason))
            }
            (EntryKind::File, Some(Content::Tracked { repository, object })) => Before::Tracked {
                repository: *repository,
                object: *object,
                facts,
            },
            (EntryKind::File, Some(Content::Link(_)) | None) => {
                let repository = path
                    .parent()
                    .and_then(|folder| innermost(&self.repositories, folder));
                let certain = repository.and_then(|at| {
                    let object = self.repositories[at].certain(path, &facts)?;
                    Some((at, object))
                });
                match certain {
                    Some((repository, object)) => Before::Tracked {
                        repository,
                        object,
                        facts,
                    },
                    None => Before::Known(not_kept(&facts, NotKeptReason::Limit)),
                }
            }
        }
    }

    fn store_copy(
        &self,
        copy: FileCopy,
        store: &CheckpointStore,
    ) -> Result<ContentHash, NotKeptReason> {
        let bytes = self
            .copies
            .read(copy)
            .map_err(|_| NotKeptReason::Unreadable)?;
        store.blobs.put(&bytes).map_err(|error| reason_of(&error))
    }

    /// Whether a file was changed in place that has names which are not watched.
    fn has_other_names(&self, difference: &Difference) -> bool {
        let (Some(old), Some(new)) = (&difference.old, &difference.new) else {
            return false;
        };
        let inode = old.facts.stamp.inode;
        if old.facts.links < 2 || new.facts.stamp.inode != inode {
            return false;
        }
        let entries = self.tree.folders.values().flatten();
        let names = entries.filter(|entry| entry.facts.stamp.inode == inode);
        (names.count() as u64) < old.facts.links
    }

    /// What is at a path now. A content is stored, since it is what the next change begins with.
    fn after(
        &mut self,
        difference: &Difference,
        budget: &CopyBudget,
        store: &CheckpointStore,
    ) -> FileState {
        let path = &difference.path;
        let Some(new) = &difference.new else {
            self.contents.remove(path);
            return FileState::Missing;
        };
        match new.kind {
            EntryKind::Folder => {
                self.contents.remove(path);
                FileState::Folder {
                    mode: new.facts.mode,
                }
            }
            EntryKind::Special => {
                self.contents.remove(path);
                FileState::Special
            }
            EntryKind::File | EntryKind::Link => {
                let content = match open_regular(path) {
                    Ok((mut file, size)) => copied(&mut file, size, budget, store),
                    Err(content) => content,
                };
                let state = match &content {
                    Content::Stored(hash) => file_state(*hash, &new.facts),
                    Content::Link(target) => FileState::Link {
                        target: target.clone(),
                    },
                    Content::NotKept(reason) => not_kept(&new.facts, *reason),
                    Content::Copied(_) | Content::Tracked { .. } => {
                        not_kept(&new.facts, NotKeptReason::Limit)
                    }
                };
                self.contents.insert(path.clone(), content);
                state
            }
        }
    }
}

/// Goes through the folder within the limits of the store.
fn walk_root(root: &Path, store: &CheckpointStore) -> Result<Tree, WalkError> {
    let limits = WalkLimits {
        max_entries: store.limits().max_entries,
        max_time: store.limits().max_walk,
        excluded: store.home().to_owned(),
    };
    walk(root, &limits)
}

/// Calls for each name that either of two lists has.
fn compare(
    old: &[Entry],
    new: &[Entry],
    mut each: impl FnMut(&std::ffi::OsStr, Option<&Entry>, Option<&Entry>),
) {
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(one), Some(other)) => one.name.cmp(&other.name),
        };
        let one = if order.is_le() { old.next() } else { None };
        let other = if order.is_ge() { new.next() } else { None };
        if let Some(entry) = one.or(other) {
            each(&entry.name, one, other);
        }
    }
}

/// The paths of changes of which the state before cannot be brought back.
pub(crate) fn not_restorable(changes: &[FileChange]) -> Vec<(PathBuf, NotKeptReason)> {
    let lost = changes.iter().filter_map(|change| {
        let reason = change.before.not_kept_reason()?;
        Some((change.path.clone(), reason))
    });
    lost.collect()
}
