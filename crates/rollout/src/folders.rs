//! The folders that contain rollouts, and moving rollouts between them.
//!
//! Active threads are in one folder per day, archived threads in a single folder. A file keeps its name
//! when it moves.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use codex_protocol::ThreadId;

use crate::path::{SESSIONS, folder_path, parse_file_name};

/// The folder of archived rollouts, under the home folder.
pub const ARCHIVED_FOLDER: &str = "archived_sessions";

/// Why a rollout was not moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The file is not in the folder of active threads.
    #[error("rollout path `{0}` must be in sessions directory")]
    NotInSessions(PathBuf),
    /// The file belongs to another thread.
    #[error("rollout path `{path}` does not match thread id {thread}")]
    OtherThread {
        path: PathBuf,
        /// The requested thread.
        thread: ThreadId,
    },
    /// An operating system error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The day folders under `home`, newest first, relative to `home`.
#[must_use]
pub fn day_folders(home: &Path) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from(SESSIONS)];
    for _ in 0..3 {
        folders = folders
            .iter()
            .flat_map(|folder| numbered(home, folder))
            .collect();
    }
    folders
}

/// The subfolders of `folder` with numeric names, greatest first.
fn numbered(home: &Path, folder: &Path) -> Vec<PathBuf> {
    let is_number = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    let entries = fs::read_dir(home.join(folder)).into_iter().flatten();
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_number(name))
        .collect();
    names.sort_unstable_by(|left, right| right.cmp(left));
    names.iter().map(|name| folder.join(name)).collect()
}

/// The archived rollout of a thread.
#[must_use]
pub fn find_archived(home: &Path, thread: &ThreadId) -> Option<PathBuf> {
    let entries = fs::read_dir(home.join(ARCHIVED_FOLDER)).ok()?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| id_of(path).as_ref() == Some(thread))
        .max()
}

/// The thread id in the name of a rollout file.
#[must_use]
pub fn id_of(path: &Path) -> Option<ThreadId> {
    let name = path.file_name()?.to_str()?;
    parse_file_name(name).map(|(_, id)| id)
}

/// Moves the rollout of a thread to the archive and returns its new path.
///
/// # Errors
/// The file is not an active rollout of that thread, or it cannot be moved.
pub fn archive(home: &Path, path: &Path, thread: &ThreadId) -> Result<PathBuf, MoveError> {
    let real = dunce::canonicalize(path)?;
    let sessions = dunce::canonicalize(home.join(SESSIONS))?;
    if !real.starts_with(sessions) {
        return Err(MoveError::NotInSessions(path.to_owned()));
    }
    let name = name_for(&real, thread)?;
    let folder = home.join(ARCHIVED_FOLDER);
    codex_private_files::create_dir_all(&folder)?;
    let target = folder.join(name);
    move_file(&real, &target)?;
    // Older files of the thread move too: left behind, they would be taken for the thread.
    while let Some(earlier) = crate::find(home, thread) {
        let target = folder.join(name_for(&earlier, thread)?);
        if target.exists() {
            break;
        }
        move_file(&earlier, &target)?;
    }
    Ok(target)
}

/// Deletes the rollout of a thread and its older files.
///
/// # Errors
/// The file cannot be removed.
pub fn delete(home: &Path, path: &Path, thread: &ThreadId) -> io::Result<()> {
    let mut next = Some(path.to_owned());
    while let Some(path) = next {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => codex_private_files::synchronise_entry(&path),
        }
        next = crate::find(home, thread).or_else(|| find_archived(home, thread));
    }
    Ok(())
}

/// Moves an archived rollout back to its day folder and returns its new path. Sets the modification time to
/// now.
///
/// # Errors
/// The file name contains no day, or the file cannot be moved.
pub fn unarchive(home: &Path, path: &Path, thread: &ThreadId) -> Result<PathBuf, MoveError> {
    let target = move_to_its_day(home, path, thread)?;
    // Older files of the thread move too.
    while let Some(earlier) = find_archived(home, thread) {
        move_to_its_day(home, &earlier, thread)?;
    }
    File::options()
        .append(true)
        .open(&target)?
        .set_modified(SystemTime::now())?;
    Ok(target)
}

fn move_to_its_day(home: &Path, path: &Path, thread: &ThreadId) -> Result<PathBuf, MoveError> {
    let name = name_for(path, thread)?;
    let day = parse_file_name(&name).and_then(|(time, _)| day_of(time));
    let other = || MoveError::OtherThread {
        path: path.to_owned(),
        thread: thread.clone(),
    };
    let folder = folder_path(&home.join(SESSIONS), &day.ok_or_else(other)?);
    codex_private_files::create_dir_all(&folder)?;
    let target = folder.join(name);
    move_file(path, &target)?;
    Ok(target)
}

/// Moves a file. Both that and its content are on the disk when this returns.
fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    File::options().append(true).open(from)?.sync_data()?;
    fs::rename(from, to)?;
    // The folder may be new, with those around it.
    for entry in to.ancestors().take(5) {
        codex_private_files::synchronise_entry(entry);
    }
    codex_private_files::synchronise_entry(from);
    Ok(())
}

/// The folder in which a file of `folder` is after its thread was archived or unarchived, relative to the home folder.
#[must_use]
pub fn moved_folder(folder: &str, file: &str) -> Option<String> {
    if folder != ARCHIVED_FOLDER {
        return Some(ARCHIVED_FOLDER.to_owned());
    }
    let (time, _) = parse_file_name(file)?;
    Some(format!("{SESSIONS}/{}", day_of(time)?))
}

fn name_for(path: &Path, thread: &ThreadId) -> Result<String, MoveError> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.filter(|_| id_of(path).as_ref() == Some(thread));
    name.map(str::to_owned)
        .ok_or_else(|| MoveError::OtherThread {
            path: path.to_owned(),
            thread: thread.clone(),
        })
}

/// Converts `2026-03-01T10-00-00` to `2026/03/01`.
fn day_of(time: &str) -> Option<String> {
    let mut parts = time.split('T').next()?.split('-');
    let mut part = |len: usize| {
        let part = parts.next()?;
        (part.len() == len && part.bytes().all(|byte| byte.is_ascii_digit())).then_some(part)
    };
    Some(format!("{}/{}/{}", part(4)?, part(2)?, part(2)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0195f0a0-7b1c-7000-8000-0000000000ab";

    fn stored(home: &Path) -> (ThreadId, PathBuf) {
        let folder = home.join("sessions/2026/03/02");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("rollout-2026-03-02T00-30-05-{ID}.jsonl"));
        fs::write(&path, "{}\n").unwrap();
        (ThreadId::parse(ID).unwrap(), path)
    }

    #[test]
    fn rollout_is_archived_and_restored() {
        let home = tempfile::tempdir().unwrap();
        let (id, path) = stored(home.path());
        let archived = archive(home.path(), &path, &id).unwrap();
        assert_eq!(find_archived(home.path(), &id), Some(archived.clone()));
        assert!(!path.exists());
        assert_eq!(unarchive(home.path(), &archived, &id).unwrap(), path);
        assert!(path.exists());
    }

    #[test]
    fn only_rollouts_in_use_are_archived() {
        let home = tempfile::tempdir().unwrap();
        let (id, path) = stored(home.path());
        let outside = home.path().join(path.file_name().unwrap());
        fs::copy(&path, &outside).unwrap();
        let refused = archive(home.path(), &outside, &id);
        assert!(matches!(refused, Err(MoveError::NotInSessions(_))));
        let refused = archive(home.path(), &path, &ThreadId::new());
        assert!(matches!(refused, Err(MoveError::OtherThread { .. })));
    }

    #[test]
    fn days_come_newest_first() {
        let home = tempfile::tempdir().unwrap();
        for day in ["2025/12/31", "2026/01/02", "2026/01/01", "2026/x/01"] {
            fs::create_dir_all(home.path().join(SESSIONS).join(day)).unwrap();
        }
        let expected = ["2026/01/02", "2026/01/01", "2025/12/31"];
        let expected = expected.map(|day| Path::new(SESSIONS).join(day));
        assert_eq!(day_folders(home.path()), expected);
    }
}
