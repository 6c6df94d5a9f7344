//! Finding the file of a thread by its id, newest folders first.

use std::fs;
use std::path::{Path, PathBuf};

use codex_protocol::ThreadId;

use crate::path::{SESSIONS, parse_file_name};

/// Depth of the folder tree: year, month, day.
const DEPTH: usize = 3;

/// The rollout file of `thread` under `home`. Reads folders, never file contents.
#[must_use]
pub fn find(home: &Path, thread: &ThreadId) -> Option<PathBuf> {
    search(&home.join(SESSIONS), DEPTH, thread)
}

fn search(folder: &Path, depth: usize, thread: &ThreadId) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort_unstable_by(|left, right| right.cmp(left));
    if depth > 0 {
        return entries
            .iter()
            .find_map(|entry| search(entry, depth - 1, thread));
    }
    entries.into_iter().find(|entry| {
        let name = entry
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        parse_file_name(name).is_some_and(|(_, id)| id == *thread)
    })
}
