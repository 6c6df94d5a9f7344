//! Lists what is below a folder, within limits.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::file_uri::uri;
use crate::refusal::Refusal;
use crate::requests::WalkOptions;

/// More entries are not listed, whatever a request allows.
const MOST_ENTRIES: usize = 100_000;

/// The entries below a folder, breadth first. The folder itself must exist; what cannot be read below it is told.
pub(crate) fn walk(folder: &Path, options: WalkOptions) -> Result<Value, Refusal> {
    codex_mounts::read_dir(folder)?;
    let mut walk = FolderWalk {
        options,
        entries: Vec::new(),
        errors: Vec::new(),
        open: VecDeque::from([(folder.to_owned(), 0)]),
        seen: HashSet::new(),
        directories: 0,
        is_truncated: false,
    };
    while let Some((folder, depth)) = walk.open.pop_front() {
        let real = codex_mounts::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
        if !walk.seen.insert(real) {
            continue;
        }
        if walk.directories >= options.max_directories {
            walk.is_truncated = true;
            break;
        }
        walk.directories += 1;
        if !walk.list(&folder, depth) {
            break;
        }
    }
    Ok(json!({ "entries": walk.entries, "errors": walk.errors, "truncated": walk.is_truncated }))
}

struct FolderWalk {
    options: WalkOptions,
    entries: Vec<Value>,
    errors: Vec<Value>,
    open: VecDeque<(PathBuf, usize)>,
    /// The folders that were listed, by their real paths: links may lead to them again.
    seen: HashSet<PathBuf>,
    directories: usize,
    is_truncated: bool,
}

impl FolderWalk {
    /// Adds the entries of a folder. Returns false when no more may be added.
    fn list(&mut self, folder: &Path, depth: usize) -> bool {
        let found = match codex_mounts::read_dir(folder) {
            Ok(found) => found,
            Err(error) => {
                self.errors
                    .push(json!({ "path": uri(folder), "message": error.to_string() }));
                return true;
            }
        };
        let mut paths: Vec<PathBuf> = found.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if self.entries.len() >= self.options.max_entries.min(MOST_ENTRIES) {
                self.is_truncated = true;
                return false;
            }
            self.add(path, depth);
        }
        true
    }

    fn add(&mut self, path: PathBuf, depth: usize) {
        let Ok(own) = codex_mounts::symlink_metadata(&path) else {
            return;
        };
        let is_link = own.is_symlink();
        let Ok(target) = codex_mounts::metadata(&path) else {
            return;
        };
        let kind = if target.is_dir() { "directory" } else { "file" };
        let is_hidden =
            (path.file_name()).is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if target.is_dir() && is_link && !self.options.follow_directory_symlinks {
            return;
        }
        self.entries
            .push(json!({ "path": uri(&path), "kind": kind }));
        let enters = target.is_dir()
            && depth < self.options.max_depth
            && !(is_hidden && self.options.prune_hidden_directories);
        if enters {
            self.open.push_back((path, depth + 1));
        }
    }
}
