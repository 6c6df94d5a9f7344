//! The manifest of a thread: what its turns changed, line by line. Lines are only ever appended.
//!
//! A line that cannot be read, such as one that a killed process left unfinished, is skipped. A manifest of a later
//! version than this is not read.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::state::{ContentHash, FileState, NotKept, stored_path, stored_paths};

/// The version of what is written.
const VERSION: u32 = 1;

/// What made a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CheckpointKind {
    /// A turn, before it changed files.
    Turn,
    /// A restore, before it changed files. Going back to it undoes the restore.
    Restore,
}

/// How much of what a turn changed is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Coverage {
    /// Everything below the roots.
    Complete,
    /// Patches alone; what commands changed is not known.
    Patches,
    /// Not everything: what is missing is listed as not kept, or the turn did not end.
    Partial,
}

/// The change of one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The absolute path, without links in its folders.
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// What was there before.
    pub before: FileState,
    /// What was there afterwards.
    pub after: FileState,
    /// The item of the turn that changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// Whether the thread certainly made it, by a patch. What a command changed is only seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_certain: bool,
}

/// The first line about a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CheckpointStart {
    pub(crate) id: String,
    pub(crate) kind: CheckpointKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<String>,
    /// The checkpoint that a restore went back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) restored: Option<String>,
    /// In seconds since 1970.
    pub(crate) at: i64,
    pub(crate) label: String,
}

/// The last line about a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CheckpointEnd {
    pub(crate) id: String,
    pub(crate) coverage: Coverage,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_kept: Vec<NotKept>,
    /// The folders that were watched.
    #[serde(with = "stored_paths", default)]
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) insertions: u64,
    pub(crate) deletions: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum Line {
    Header {
        version: u32,
        thread: String,
    },
    Start(CheckpointStart),
    Changes {
        checkpoint: String,
        changes: Vec<FileChange>,
    },
    End(CheckpointEnd),
}

/// A checkpoint: files as they were before something changed them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub id: String,
    pub kind: CheckpointKind,
    /// The turn, if a turn made it.
    pub turn: Option<String>,
    /// The checkpoint that was gone back to, if a restore made it.
    pub restored: Option<String>,
    /// In seconds since 1970.
    pub at: i64,
    /// The beginning of what the user asked for.
    pub label: String,
    pub coverage: Coverage,
    pub not_kept: Vec<NotKept>,
    /// The folders in which the effects of commands were watched.
    pub roots: Vec<PathBuf>,
    pub insertions: u64,
    pub deletions: u64,
    /// What changed after it and before the next one, in order.
    pub changes: Vec<FileChange>,
}

impl Checkpoint {
    /// The number of files that changed.
    #[must_use]
    pub fn files(&self) -> usize {
        let is_file = |change: &&FileChange| {
            let is_folder = |state: &FileState| matches!(state, FileState::Folder { .. });
            !(is_folder(&change.before) || is_folder(&change.after))
        };
        let paths = self
            .changes
            .iter()
            .filter(is_file)
            .map(|change| &change.path);
        paths.collect::<std::collections::HashSet<_>>().len()
    }
}

/// Where the manifest of a thread lies.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    path: PathBuf,
    thread: String,
}

impl Manifest {
    pub(crate) fn new(folder: &Path, thread: &str) -> Self {
        Self {
            path: folder.join(format!("{thread}.jsonl")),
            thread: thread.to_owned(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line in one write.
    pub(crate) fn append(&self, line: &Line) -> io::Result<()> {
        let mut text = Vec::new();
        let mut options = File::options();
        options.append(true).read(true).create(true);
        let mut file = codex_private_files::open(&self.path, &mut options)?;
        if file.metadata()?.len() == 0 {
            let header = Line::Header {
                version: VERSION,
                thread: self.thread.clone(),
            };
            serde_json::to_writer(&mut text, &header)?;
            text.push(b'\n');
        } else if !ends_with_newline(&mut file)? {
            text.push(b'\n');
        }
        serde_json::to_writer(&mut text, line)?;
        text.push(b'\n');
        file.write_all(&text)
    }

    /// The checkpoints, oldest first. None without a manifest.
    pub(crate) fn read(&self) -> io::Result<Vec<Checkpoint>> {
        let mut found: Vec<Checkpoint> = Vec::new();
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            Err(error) => return Err(error),
        };
        for line in BufReader::new(file).split(b'\n') {
            let Ok(line) = serde_json::from_slice::<Line>(&line?) else {
                continue;
            };
            match line {
                Line::Header { version, .. } if version > VERSION => {
                    let message = "the checkpoints were written by a newer version";
                    return Err(io::Error::new(io::ErrorKind::Unsupported, message));
                }
                Line::Header { .. } => {}
                Line::Start(start) => found.push(Checkpoint {
                    id: start.id,
                    kind: start.kind,
                    turn: start.turn,
                    restored: start.restored,
                    at: start.at,
                    label: start.label,
                    coverage: Coverage::Partial,
                    not_kept: Vec::new(),
                    roots: Vec::new(),
                    insertions: 0,
                    deletions: 0,
                    changes: Vec::new(),
                }),
                Line::Changes {
                    checkpoint,
                    changes,
                } => {
                    if let Some(found) = latest(&mut found, &checkpoint) {
                        found.changes.extend(changes);
                    }
                }
                Line::End(end) => {
                    if let Some(found) = latest(&mut found, &end.id) {
                        found.coverage = end.coverage;
                        found.not_kept = end.not_kept;
                        found.roots = end.roots;
                        found.insertions = end.insertions;
                        found.deletions = end.deletions;
                    }
                }
            }
        }
        Ok(found)
    }
}

fn latest<'a>(found: &'a mut [Checkpoint], id: &str) -> Option<&'a mut Checkpoint> {
    found.iter_mut().rev().find(|found| found.id == id)
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// The contents that checkpoints refer to.
pub(crate) fn contents(checkpoints: &[Checkpoint]) -> impl Iterator<Item = (ContentHash, u64)> {
    let changes = checkpoints
        .iter()
        .flat_map(|checkpoint| &checkpoint.changes);
    let states = changes.flat_map(|change| [&change.before, &change.after]);
    states.filter_map(|state| match state {
        FileState::File { hash, size, .. } => Some((*hash, *size)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(id: &str) -> Line {
        Line::Start(CheckpointStart {
            id: id.to_owned(),
            kind: CheckpointKind::Turn,
            turn: Some("t".to_owned()),
            restored: None,
            at: 1,
            label: "l".to_owned(),
        })
    }

    fn changes(id: &str, path: &str) -> Line {
        Line::Changes {
            checkpoint: id.to_owned(),
            changes: vec![FileChange {
                path: path.into(),
                before: FileState::Missing,
                after: FileState::Folder { mode: 0o700 },
                item: None,
                is_certain: false,
            }],
        }
    }

    #[test]
    fn a_torn_line_costs_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = Manifest::new(folder.path(), "thread");
        assert!(manifest.read().unwrap().is_empty());
        manifest.append(&start("a")).unwrap();
        manifest.append(&changes("a", "/a")).unwrap();
        let mut file = File::options().append(true).open(manifest.path()).unwrap();
        file.write_all(b"{\"type\":\"chan").unwrap();
        manifest.append(&changes("a", "/b")).unwrap();
        manifest.append(&start("b")).unwrap();
        let found = manifest.read().unwrap();
        assert_eq!(found.len(), 2);
        let paths = found[0].changes.iter().map(|change| change.path.as_path());
        assert!(paths.eq([Path::new("/a"), Path::new("/b")]));
        assert_eq!(found[0].coverage, Coverage::Partial);
    }

    #[test]
    fn a_manifest_of_a_newer_version_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = Manifest::new(folder.path(), "thread");
        let header = "{\"type\":\"header\",\"version\":2,\"thread\":\"thread\"}\n";
        std::fs::write(manifest.path(), header).unwrap();
        let error = manifest.read().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    }
}
