//! What differs between two checkpoints, or a checkpoint and now.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use codex_text_diff::diff_lines;

use crate::blobs::BlobStore;
use crate::case_variants::CaseVariants;
use crate::error::RestoreError;
use crate::fs_node::FsNode;
use crate::history::{histories, is_wanted};
use crate::manifest::{Checkpoint, FileChange};
use crate::observe::not_kept;
use crate::state::{ContentHash, FileState, NotKeptReason};
use crate::store::CheckpointStore;

/// Larger texts are not compared line by line.
const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// No more is compared for one answer.
const MAX_DIFF_BYTES: usize = 16 * 1024 * 1024;
const CONTEXT_LINES: usize = 3;

/// How a file differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    Added,
    Deleted,
    Modified,
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDifference {
    pub path: PathBuf,
    pub kind: DifferenceKind,
    /// Whether there are no lines to show: it is no text, too large, or not kept.
    pub binary: bool,
    pub insertions: u64,
    pub deletions: u64,
}

/// What differs, as a text and by file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointDiff {
    pub text: String,
    pub files: Vec<FileDifference>,
}

impl CheckpointStore {
    /// From what files were before a checkpoint to what they were before another one, or are now. Blocks.
    ///
    /// # Errors
    /// There is no such checkpoint, or the store cannot be read.
    pub fn diff(
        &self,
        thread: &str,
        from: &str,
        to: Option<&str>,
        paths: &[PathBuf],
    ) -> Result<CheckpointDiff, RestoreError> {
        let checkpoints = self.checkpoints(thread)?;
        let first = position(&checkpoints, from)?;
        let last = to.map(|to| position(&checkpoints, to)).transpose()?;
        let old: BTreeMap<PathBuf, FileState> = match last {
            Some(last) if last < first => {
                return Err(RestoreError::NotLater(to.unwrap_or_default().to_owned()));
            }
            Some(last) => first_states(&checkpoints[first..last]),
            None => first_states(&checkpoints[first..]),
        };
        let mut later = last.map(|last| {
            let mut states = last_states(&checkpoints[first..last]);
            let after = first_states(&checkpoints[last..]);
            states
                .iter_mut()
                .filter_map(|(path, state)| after.get(path).map(|known| (state, known)))
                .for_each(|(state, known)| *state = known.clone());
            states
        });
        let mut variants = CaseVariants::from_paths(old.keys());
        let mut diff = DiffWriter::new(&self.blobs);
        for (path, old) in &old {
            if !is_wanted(path, paths) {
                continue;
            }
            let (new, content) = match &mut later {
                Some(later) => (later.remove(path).unwrap_or(FileState::Missing), None),
                None => current(variants.node_at(path)),
            };
            diff.add(path, old, &new, content);
        }
        Ok(diff.finish())
    }
}

pub(crate) fn position(checkpoints: &[Checkpoint], id: &str) -> Result<usize, RestoreError> {
    let found = checkpoints.iter().position(|known| known.id == id);
    found.ok_or_else(|| RestoreError::NoCheckpoint(id.to_owned()))
}

fn first_states(checkpoints: &[Checkpoint]) -> BTreeMap<PathBuf, FileState> {
    let histories = histories(checkpoints).into_iter();
    histories
        .map(|(path, history)| (path, history.first))
        .collect()
}

fn last_states(checkpoints: &[Checkpoint]) -> BTreeMap<PathBuf, FileState> {
    let histories = histories(checkpoints).into_iter();
    histories
        .map(|(path, history)| (path, history.last))
        .collect()
}

/// The state of what is at a path now, with its content if it is not large.
fn current(found: io::Result<FsNode>) -> (FileState, Option<Vec<u8>>) {
    match found {
        Ok(FsNode::Missing) => (FileState::Missing, None),
        Ok(FsNode::Link(target)) => (FileState::Link { target }, None),
        Ok(FsNode::Folder(facts)) => (FileState::Folder { mode: facts.mode }, None),
        Ok(FsNode::Special) | Err(_) => (FileState::Special, None),
        Ok(FsNode::File(file, facts)) => {
            let mut content = Vec::new();
            let read = file
                .take(MAX_TEXT_BYTES as u64 + 1)
                .read_to_end(&mut content);
            if read.is_err() || content.len() > MAX_TEXT_BYTES {
                return (not_kept(&facts, NotKeptReason::TooLarge), None);
            }
            let state = FileState::File {
                hash: ContentHash::compute(&content),
                size: content.len() as u64,
                mode: facts.mode,
            };
            (state, Some(content))
        }
    }
}

/// How many lines these changes add and remove altogether.
pub(crate) fn line_counts(changes: &[FileChange], blobs: &BlobStore) -> (u64, u64) {
    let mut net: BTreeMap<&Path, (&FileState, &FileState)> = BTreeMap::new();
    for change in changes {
        net.entry(&change.path)
            .and_modify(|(_, after)| *after = &change.after)
            .or_insert((&change.before, &change.after));
    }
    let mut diff = DiffWriter::new(blobs);
    diff.counts_only = true;
    for (path, (before, after)) in net {
        diff.add(path, before, after, None);
    }
    let files = diff.finish().files.into_iter();
    files.fold((0, 0), |(more, less), file| {
        (more + file.insertions, less + file.deletions)
    })
}

struct DiffWriter<'a> {
    blobs: &'a BlobStore,
    room: usize,
    counts_only: bool,
    diff: CheckpointDiff,
}

impl<'a> DiffWriter<'a> {
    fn new(blobs: &'a BlobStore) -> Self {
        Self {
            blobs,
            room: MAX_DIFF_BYTES,
            counts_only: false,
            diff: CheckpointDiff::default(),
        }
    }

    fn add(&mut self, path: &Path, old: &FileState, new: &FileState, content: Option<Vec<u8>>) {
        let is_folder = |state: &FileState| matches!(state, FileState::Folder { .. });
        let is_nothing = |state: &FileState| is_folder(state) || *state == FileState::Missing;
        if old == new || (is_nothing(old) && is_nothing(new)) {
            return;
        }
        let kind = match (is_nothing(old), is_nothing(new)) {
            (true, _) => DifferenceKind::Added,
            (_, true) => DifferenceKind::Deleted,
            _ => DifferenceKind::Modified,
        };
        let old_text = self.text(old, None);
        let new_text = self.text(new, content);
        let (Some(old_text), Some(new_text)) = (old_text, new_text) else {
            self.diff.files.push(FileDifference {
                path: path.to_owned(),
                kind,
                binary: true,
                insertions: 0,
                deletions: 0,
            });
            if !self.counts_only {
                let name = path.display();
                let _ = writeln!(self.diff.text, "Binary files a{name} and b{name} differ");
            }
            return;
        };
        let compared = diff_lines(&old_text, &new_text);
        let hunks = (!self.counts_only).then(|| compared.hunks(CONTEXT_LINES));
        if let Some(hunks) = hunks.filter(|hunks| !hunks.is_empty()) {
            let side = |mark: char, state: &FileState| {
                if is_nothing(state) {
                    "/dev/null".to_owned()
                } else {
                    format!("{mark}{}", path.display())
                }
            };
            let (old, new) = (side('a', old), side('b', new));
            let _ = write!(self.diff.text, "--- {old}\n+++ {new}\n{hunks}");
        }
        self.diff.files.push(FileDifference {
            path: path.to_owned(),
            kind,
            binary: false,
            insertions: compared.insertions() as u64,
            deletions: compared.deletions() as u64,
        });
    }

    /// The text of a state; none if it has no lines that can be compared.
    fn text(&mut self, state: &FileState, content: Option<Vec<u8>>) -> Option<String> {
        let bytes = match state {
            FileState::Missing | FileState::Folder { .. } => return Some(String::new()),
            FileState::Link { target } => return Some(target.to_str()?.to_owned()),
            FileState::NotKept { .. } | FileState::Special => return None,
            FileState::File { hash, size, .. } => {
                let size = usize::try_from(*size).ok()?;
                if size > MAX_TEXT_BYTES || size > self.room {
                    return None;
                }
                self.room -= size;
                match content {
                    Some(content) => content,
                    None => self.blobs.read(*hash).ok()?,
                }
            }
        };
        String::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains('\0'))
    }

    fn finish(self) -> CheckpointDiff {
        self.diff
    }
}
