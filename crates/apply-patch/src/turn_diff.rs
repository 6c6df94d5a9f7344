//! The changes of all patches of one turn, as one diff in git's format.
//!
//! A file's content is recorded before the first patch that touches it. The diff compares it with what is on disk now,
//! whoever wrote that; files that no patch touched are not compared.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use codex_text_diff::unified_diff;

use crate::files::{DiskFiles, FileAccess, FileEntry};
use crate::plan::{ChangeKind, PatchPlan, PlannedFile};

/// Context lines around a change.
const CONTEXT_LINES: usize = 3;

/// The object id git uses for a missing file.
const NO_BLOB: &str = "0000000000000000000000000000000000000000";

/// Collects the patches of one turn.
#[derive(Debug, Clone, Default)]
pub struct TurnDiff {
    files: Vec<TrackedFile>,
}

#[derive(Debug, Clone)]
struct TrackedFile {
    original_path: PathBuf,
    original: Option<FileSnapshot>,
    /// The current path, if the file was moved.
    path: PathBuf,
    /// If the file is one of another machine.
    elsewhere: Option<FileElsewhere>,
}

/// A file of another machine: what it is now is known from the patches alone.
#[derive(Debug, Clone)]
struct FileElsewhere {
    machine: String,
    now: Option<FileSnapshot>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FileSnapshot {
    mode: FileMode,
    /// For a link, its target.
    content: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileMode {
    Plain,
    Executable,
    Link,
}

impl TurnDiff {
    /// Records the current files of a plan. Call this before applying it.
    pub fn before(&mut self, plan: &PatchPlan) {
        for change in plan.changes() {
            if !self.here().any(|file| file.path == change.path) {
                self.files.push(TrackedFile {
                    original_path: change.path.clone(),
                    original: FileSnapshot::take(&change.path),
                    path: change.path.clone(),
                    elsewhere: None,
                });
            }
        }
    }

    /// Updates paths that a plan moved. Call this after applying it.
    pub fn after(&mut self, plan: &PatchPlan) {
        for change in plan.changes() {
            if let ChangeKind::Update {
                move_path: Some(destination),
                ..
            } = &change.kind
            {
                self.files
                    .retain(|file| file.elsewhere.is_some() || file.path != *destination);
                let mut here = (self.files.iter_mut()).filter(|file| file.elsewhere.is_none());
                if let Some(file) = here.find(|file| file.path == change.path) {
                    file.path.clone_from(destination);
                }
            }
        }
    }

    fn here(&self) -> impl Iterator<Item = &TrackedFile> {
        self.files.iter().filter(|file| file.elsewhere.is_none())
    }

    /// Adds a file that was changed on another machine.
    pub fn record(&mut self, machine: &str, file: &PlannedFile<'_>) {
        let snapshot = |content: &[u8]| FileSnapshot {
            mode: FileMode::Plain,
            content: content.to_vec(),
        };
        let now = file.content.map(snapshot);
        let known = self.files.iter_mut().find_map(|known| {
            let elsewhere = known.elsewhere.as_mut()?;
            (elsewhere.machine == machine && known.path == file.path).then_some(elsewhere)
        });
        if let Some(known) = known {
            known.now = now;
            return;
        }
        self.files.push(TrackedFile {
            original_path: file.path.to_owned(),
            original: file.seen.map(snapshot),
            path: file.path.to_owned(),
            elsewhere: Some(FileElsewhere {
                machine: machine.to_owned(),
                now,
            }),
        });
    }

    /// The whole diff, sorted by current path. Empty if nothing differs. Paths below `root` are shown relative to it.
    pub fn text(&self, root: Option<&Path>) -> String {
        let mut files: Vec<(String, String)> = self
            .files
            .iter()
            .map(|file| (shown(root, &file.path), file.diff(root)))
            .collect();
        files.sort();
        files.into_iter().map(|(_, diff)| diff).collect()
    }
}

fn shown(root: Option<&Path>, path: &Path) -> String {
    let below = root.and_then(|root| path.strip_prefix(root).ok());
    let path = below.unwrap_or(path).to_string_lossy();
    path.replace('\\', "/")
}

impl TrackedFile {
    fn diff(&self, root: Option<&Path>) -> String {
        let new = match &self.elsewhere {
            Some(elsewhere) => elsewhere.now.clone(),
            None => FileSnapshot::take(&self.path),
        };
        let old = self.original.as_ref();
        let new = new.as_ref();
        let (old_path, new_path) = (shown(root, &self.original_path), shown(root, &self.path));
        let moved = old_path != new_path;
        if old == new && (!moved || old.is_none()) {
            return String::new();
        }
        let mut diff = format!("diff --git a/{old_path} b/{new_path}\n");
        let modes = match (old, new) {
            (None, Some(new)) => format!("new file mode {}\n", new.mode.digits()),
            (Some(old), None) => format!("deleted file mode {}\n", old.mode.digits()),
            (Some(old), Some(new)) if old.mode != new.mode => {
                format!(
                    "old mode {}\nnew mode {}\n",
                    old.mode.digits(),
                    new.mode.digits()
                )
            }
            _ => String::new(),
        };
        diff.push_str(&modes);
        if old.map(|old| &old.content) == new.map(|new| &new.content) && moved {
            diff.push_str(&format!(
                "similarity index 100%\nrename from {old_path}\nrename to {new_path}\n"
            ));
            return diff;
        }
        let id = |snapshot: Option<&FileSnapshot>| {
            snapshot.map_or(NO_BLOB.to_owned(), FileSnapshot::blob_id)
        };
        // Writing to a `String` cannot fail.
        let _ = writeln!(diff, "index {}..{}", id(old), id(new));
        let old_name = old.map_or("/dev/null".to_owned(), |_| format!("a/{old_path}"));
        let new_name = new.map_or("/dev/null".to_owned(), |_| format!("b/{new_path}"));
        diff.push_str(&hunks(old, new, &old_name, &new_name));
        diff
    }
}

fn hunks(
    old: Option<&FileSnapshot>,
    new: Option<&FileSnapshot>,
    old_name: &str,
    new_name: &str,
) -> String {
    let text = |snapshot: Option<&FileSnapshot>| match snapshot {
        None => Some(String::new()),
        Some(snapshot) => String::from_utf8(snapshot.content.clone()).ok(),
    };
    let hunks = match (text(old), text(new)) {
        (Some(old), Some(new)) if old == new => return String::new(),
        (Some(old), Some(new)) => unified_diff(&old, &new, CONTEXT_LINES),
        _ => "Binary files differ\n".to_owned(),
    };
    format!("--- {old_name}\n+++ {new_name}\n{hunks}")
}

impl FileSnapshot {
    /// The content at a path; none if there is no readable file.
    fn take(path: &Path) -> Option<Self> {
        match DiskFiles.entry(path).ok()? {
            FileEntry::File => Some(Self {
                mode: if is_executable(path) {
                    FileMode::Executable
                } else {
                    FileMode::Plain
                },
                content: DiskFiles.read(path).ok()?,
            }),
            FileEntry::Link(target) => Some(Self {
                mode: FileMode::Link,
                content: target.to_string_lossy().into_owned().into_bytes(),
            }),
            FileEntry::Missing | FileEntry::Folder | FileEntry::Other => None,
        }
    }

    /// The object id that git assigns to this content.
    fn blob_id(&self) -> String {
        let mut hash = sha1_smol::Sha1::new();
        hash.update(format!("blob {}\0", self.content.len()).as_bytes());
        hash.update(&self.content);
        hash.digest().to_string()
    }
}

impl FileMode {
    fn digits(self) -> &'static str {
        match self {
            Self::Plain => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        }
    }
}

fn is_executable(path: &Path) -> bool {
    codex_mounts::metadata(path).is_ok_and(|metadata| codex_system::file::is_executable(&metadata))
}
