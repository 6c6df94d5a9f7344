//! The memory folder, and the copy of it that is worked on.
//!
//! Commands cannot write the folder `memories` of the home folder. The consolidating agent has a copy of it below `.tmp`, which is
//! published file by file, the summary last. A process that is killed leaves whole files, and the next consolidation completes them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use codex_project_markers::PROTECTED_NAMES;

use crate::note::Note;

const FOLDER: &str = "memories";
/// What new threads are told.
const SUMMARY: &str = "memory_summary.md";
const RAW_MEMORIES: &str = "raw_memories.md";
const ROLLOUT_SUMMARIES: &str = "rollout_summaries";
const TEMPORARY_SUFFIX: &str = ".tmp";
const PREFIX: &str = "memories-";

/// The limits on the files of the folder.
const MAX_FILES: usize = 4000;
const MAX_BYTES: u64 = 32 * 1024 * 1024;
const MAX_DEPTH: usize = 6;

/// A copy of the memory folder with the current notes. It is deleted when it is dropped.
#[derive(Debug)]
pub(crate) struct Staging {
    path: PathBuf,
    /// The summaries that the folder did not have.
    pub(crate) new: Vec<String>,
    /// The summaries that it has no more.
    pub(crate) removed: Vec<String>,
}

impl Staging {
    /// Copies the folder and writes the notes. The caller has the lease, so copies that exist are left from killed processes.
    pub(crate) fn prepare(home: &Path, notes: &[Note]) -> io::Result<Self> {
        let temporary = home.join(TEMPORARY_SUFFIX);
        codex_private_files::create_dir_all(&temporary)?;
        for entry in fs::read_dir(&temporary)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                remove(&entry.path())?;
            }
        }
        let name = format!("{PREFIX}{}", uuid::Uuid::now_v7());
        let mut staging = Self {
            path: temporary.join(name),
            new: Vec::new(),
            removed: Vec::new(),
        };
        codex_private_files::create_dir_all(&staging.path)?;
        let memories = home.join(FOLDER);
        for file in files(&memories)? {
            let copy = staging.path.join(&file);
            if let Some(parent) = copy.parent() {
                codex_private_files::create_dir_all(parent)?;
            }
            fs::copy(memories.join(&file), copy)?;
        }
        staging.write_notes(notes)?;
        Ok(staging)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn write_notes(&mut self, notes: &[Note]) -> io::Result<()> {
        let folder = self.path.join(ROLLOUT_SUMMARIES);
        codex_private_files::create_dir_all(&folder)?;
        let mut old = BTreeSet::new();
        for entry in fs::read_dir(&folder)?.flatten() {
            old.insert(entry.file_name().to_string_lossy().into_owned());
        }
        let mut raw = "# Raw memories\n".to_owned();
        for note in notes {
            let file = note.summary_file();
            let head = head(note);
            let _ = write!(
                raw,
                "\n## Thread {}\n\n{head}rollout_summary_file: {file}\n\n{}\n",
                note.thread, note.raw_memory
            );
            let summary = format!("thread_id: {}\n{head}\n{}\n", note.thread, note.summary);
            codex_private_files::write(&folder.join(&file), summary.as_bytes())?;
            if !old.remove(&file) {
                self.new.push(file);
            }
        }
        for file in old {
            fs::remove_file(folder.join(&file))?;
            self.removed.push(file);
        }
        codex_private_files::write(&self.path.join(RAW_MEMORIES), raw.as_bytes())
    }

    /// Makes the copy the memory folder.
    pub(crate) fn publish(&self, home: &Path) -> io::Result<()> {
        let memories = home.join(FOLDER);
        codex_private_files::create_dir_all(&memories)?;
        let mut new = files(&self.path)?;
        new.sort_by_key(|file| file == Path::new(SUMMARY));
        for file in &new {
            let target = memories.join(file);
            if let Some(parent) = target.parent() {
                codex_private_files::create_dir_all(parent)?;
            }
            fs::rename(self.path.join(file), target)?;
        }
        for file in files(&memories)? {
            if !new.contains(&file) {
                fs::remove_file(memories.join(file))?;
            }
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tracing::debug!(%error, "a copy of the memory folder stays");
        }
    }
}

/// Removes a copy. The sandbox removes its placeholders shortly after its command has ended, and a removal fails if a placeholder disappears
/// meanwhile. There is at most one for each protected name, so it is tried once more for each.
fn remove(copy: &Path) -> io::Result<()> {
    for _ in PROTECTED_NAMES {
        if fs::remove_dir_all(copy).is_ok() {
            return Ok(());
        }
    }
    fs::remove_dir_all(copy)
}

/// Deletes all files of the memory folder.
pub(crate) fn clear(home: &Path) -> io::Result<()> {
    let memories = home.join(FOLDER);
    for file in files(&memories)? {
        fs::remove_file(memories.join(file))?;
    }
    Ok(())
}

fn head(note: &Note) -> String {
    let updated = jiff::Timestamp::from_second(note.thread_updated_at).unwrap_or_default();
    format!(
        "updated_at: {updated}\ncwd: {}\nrollout_path: {}\n",
        note.cwd, note.path
    )
}

/// The regular files of a folder, relative to it. Links are left out, and what a sandbox keeps from being made: its placeholders go away
/// after its command has ended.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    let mut folders = vec![(PathBuf::new(), 0)];
    while let Some((at, depth)) = folders.pop() {
        let entries = match fs::read_dir(folder.join(&at)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound && depth == 0 => break,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            if PROTECTED_NAMES
                .iter()
                .any(|name| entry.file_name() == *name)
            {
                continue;
            }
            let (path, kind) = (at.join(entry.file_name()), entry.file_type()?);
            if kind.is_dir() && depth < MAX_DEPTH {
                folders.push((path, depth + 1));
            } else if kind.is_file() {
                bytes += entry.metadata()?.len();
                found.push(path);
            }
            if found.len() + folders.len() > MAX_FILES || bytes > MAX_BYTES {
                let message = format!("{} has too many or too large files", folder.display());
                return Err(io::Error::other(message));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(thread: &str) -> Note {
        Note {
            thread: thread.to_owned(),
            raw_memory: format!("raw {thread}"),
            summary: format!("summary {thread}"),
            ..Note::default()
        }
    }

    #[test]
    fn copy_replaces_folder_without_links() {
        let home = tempfile::tempdir().unwrap();
        let memories = home.path().join("memories");
        let left = home.path().join(".tmp/memories-left");
        fs::create_dir_all(&left).unwrap();
        let first = Staging::prepare(home.path(), &[note("a"), note("b")]).unwrap();
        assert_eq!(first.new, ["1970-01-01-a.md", "1970-01-01-b.md"]);
        assert!(!left.exists());
        fs::write(first.path().join("memory_summary.md"), "told").unwrap();
        fs::write(first.path().join("own.md"), "x").unwrap();
        fs::write(first.path().join(".git"), "").unwrap();
        fs::create_dir(first.path().join(".codex")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", first.path().join("link")).unwrap();
        first.publish(home.path()).unwrap();
        let raw = fs::read_to_string(memories.join("raw_memories.md")).unwrap();
        assert!(
            raw.contains("## Thread a\n") && raw.contains("raw b"),
            "{raw}"
        );
        for left_out in ["link", ".git", ".codex"] {
            assert!(memories.join(left_out).symlink_metadata().is_err());
        }

        let second = Staging::prepare(home.path(), &[note("b")]).unwrap();
        assert_eq!(second.removed, ["1970-01-01-a.md"]);
        assert!(second.new.is_empty());
        fs::remove_file(second.path().join("own.md")).unwrap();
        second.publish(home.path()).unwrap();
        assert!(!memories.join("rollout_summaries/1970-01-01-a.md").exists());
        assert!(!memories.join("own.md").exists());
        assert_eq!(
            fs::read_to_string(memories.join("memory_summary.md")).unwrap(),
            "told"
        );
        let path = second.path().to_owned();
        drop(second);
        assert!(!path.exists());
        clear(home.path()).unwrap();
        assert!(!memories.join("memory_summary.md").exists());
    }
}
