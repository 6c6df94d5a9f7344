//! What the patches of one turn changed, as one diff in git's format.
//!
//! A file is noted the first time a patch touches it, as it was before. The diff is always from there to what is on disk
//! now, whoever wrote that; files that no patch touched are not looked at.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::diff::unified_diff;
use crate::files::{Disk, Entry, Files};
use crate::plan::{ChangeKind, Plan};

/// Context lines around a change.
const CONTEXT_LINES: usize = 3;

/// The id that stands for no content.
const NO_BLOB: &str = "0000000000000000000000000000000000000000";

/// The patches of one turn, added up.
#[derive(Debug, Clone)]
pub struct TurnDiff {
    /// Paths are shown relative to this folder, if they are below it.
    root: Option<PathBuf>,
    files: Vec<Tracked>,
}

#[derive(Debug, Clone)]
struct Tracked {
    original_path: PathBuf,
    original: Option<Snapshot>,
    /// Where the file is now, if it was moved.
    path: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Snapshot {
    mode: Mode,
    /// The target, for a link.
    content: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    Executable,
    Link,
}

impl TurnDiff {
    /// `root` is the top folder of the repository, if there is one.
    pub fn new(root: Option<PathBuf>) -> Self {
        Self {
            root,
            files: Vec::new(),
        }
    }

    /// Notes the files of a plan as they are. To be called before it is applied.
    pub fn before(&mut self, plan: &Plan) {
        for change in plan.changes() {
            if !self.files.iter().any(|file| file.path == change.path) {
                self.files.push(Tracked {
                    original_path: change.path.clone(),
                    original: Snapshot::take(&change.path),
                    path: change.path.clone(),
                });
            }
        }
    }

    /// Follows the moves of a plan. To be called once it has been applied.
    pub fn after(&mut self, plan: &Plan) {
        for change in plan.changes() {
            if let ChangeKind::Update {
                move_path: Some(destination),
                ..
            } = &change.kind
            {
                self.files.retain(|file| file.path != *destination);
                if let Some(file) = self.files.iter_mut().find(|file| file.path == change.path) {
                    file.path.clone_from(destination);
                }
            }
        }
    }

    /// The whole diff, files sorted by where they are now. Empty when all is as it was.
    pub fn text(&self) -> String {
        let mut files: Vec<(String, String)> = self
            .files
            .iter()
            .map(|file| (self.shown(&file.path), self.file_diff(file)))
            .collect();
        files.sort();
        files.into_iter().map(|(_, diff)| diff).collect()
    }

    fn shown(&self, path: &Path) -> String {
        let below = self
            .root
            .as_deref()
            .and_then(|root| path.strip_prefix(root).ok());
        let path = below.unwrap_or(path).to_string_lossy();
        path.replace('\\', "/")
    }

    fn file_diff(&self, file: &Tracked) -> String {
        let (old, new) = (file.original.as_ref(), Snapshot::take(&file.path));
        let new = new.as_ref();
        let (old_path, new_path) = (self.shown(&file.original_path), self.shown(&file.path));
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
        let id =
            |snapshot: Option<&Snapshot>| snapshot.map_or(NO_BLOB.to_owned(), Snapshot::blob_id);
        // Writing to a string cannot fail.
        let _ = writeln!(diff, "index {}..{}", id(old), id(new));
        let old_name = old.map_or("/dev/null".to_owned(), |_| format!("a/{old_path}"));
        let new_name = new.map_or("/dev/null".to_owned(), |_| format!("b/{new_path}"));
        diff.push_str(&hunks(old, new, &old_name, &new_name));
        diff
    }
}

fn hunks(old: Option<&Snapshot>, new: Option<&Snapshot>, old_name: &str, new_name: &str) -> String {
    let text = |snapshot: Option<&Snapshot>| match snapshot {
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

impl Snapshot {
    /// What is at the path; none if there is no file, or none that can be read.
    fn take(path: &Path) -> Option<Self> {
        match Disk.entry(path).ok()? {
            Entry::File => Some(Self {
                mode: if is_executable(path) {
                    Mode::Executable
                } else {
                    Mode::Plain
                },
                content: Disk.read(path).ok()?,
            }),
            Entry::Link(target) => Some(Self {
                mode: Mode::Link,
                content: target.to_string_lossy().into_owned().into_bytes(),
            }),
            Entry::Missing | Entry::Folder | Entry::Other => None,
        }
    }

    /// The id that git gives this content.
    fn blob_id(&self) -> String {
        let mut hash = sha1_smol::Sha1::new();
        hash.update(format!("blob {}\0", self.content.len()).as_bytes());
        hash.update(&self.content);
        hash.digest().to_string()
    }
}

impl Mode {
    fn digits(self) -> &'static str {
        match self {
            Self::Plain => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        }
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    false
}
