//! The messages that a user typed, in all threads, for recalling them: a JSONL file under the home folder.
//! It is not a transcript.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use codex_protocol::{HistoryEntry, ThreadId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

const FILE: &str = "history.jsonl";

/// How often a lock held by another process is tried, and the pause between two tries.
const LOCK_TRIES: u32 = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

#[derive(Serialize, Deserialize)]
struct MessageLine {
    session_id: String,
    ts: u64,
    text: String,
}

/// The identity and size of the message history; zeros if there is no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageHistoryState {
    /// The identity of the file. It changes when the file is replaced.
    pub log_id: u64,
    /// The number of entries.
    pub entry_count: usize,
}

/// Adds an entry. If the file grows beyond `max_bytes`, the oldest entries are removed until a fifth is free.
///
/// Waits up to one second for other processes.
///
/// # Errors
/// The file cannot be written.
pub fn add_message(
    home: &Path,
    thread: &ThreadId,
    text: &str,
    at: Timestamp,
    max_bytes: Option<u64>,
) -> io::Result<()> {
    let line = MessageLine {
        session_id: thread.to_string(),
        ts: u64::try_from(at.as_second()).unwrap_or(0),
        text: text.to_owned(),
    };
    let mut line = serde_json::to_vec(&line)?;
    line.push(b'\n');
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    let mut file = codex_private_files::open(&home.join(FILE), &mut options)?;
    lock(&file, File::try_lock)?;
    file.write_all(&line)?;
    match max_bytes {
        Some(most) if file.metadata()?.len() > most => shorten(&mut file, most),
        _ => Ok(()),
    }
}

fn lock(file: &File, try_lock: fn(&File) -> Result<(), TryLockError>) -> io::Result<()> {
    for _ in 0..LOCK_TRIES {
        match try_lock(file) {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::WouldBlock,
        "another process holds the message history",
    ))
}

/// Removes the oldest lines. The newest line is always kept.
fn shorten(file: &mut File, most: u64) -> io::Result<()> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut text)?;
    let wanted = usize::try_from(most / 5 * 4).unwrap_or(usize::MAX);
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let starts = ends
        .map(|(end, _)| end + 1)
        .filter(|start| *start < text.len());
    let mut kept = 0;
    for start in starts {
        if text.len() - kept <= wanted {
            break;
        }
        kept = start;
    }
    // The file is open for appending, so this write starts at offset 0 after the truncation.
    file.set_len(0)?;
    file.write_all(&text[kept..])
}

/// The current state of the message history.
#[must_use]
pub fn message_history(home: &Path) -> MessageHistoryState {
    let Ok(file) = codex_regular_file::open(&home.join(FILE)) else {
        return MessageHistoryState::default();
    };
    let log_id = identity(&file);
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let mut entry_count = 0;
    while let Ok(chunk) = reader.fill_buf()
        && !chunk.is_empty()
    {
        entry_count += chunk.iter().filter(|byte| **byte == b'\n').count();
        let length = chunk.len();
        reader.consume(length);
    }
    MessageHistoryState {
        log_id,
        entry_count,
    }
}

/// The entry at `offset`, counted from the oldest, if the file still has the identity `log_id`. 0 matches any
/// file.
#[must_use]
pub fn message_at(home: &Path, log_id: u64, offset: usize) -> Option<HistoryEntry> {
    let file = codex_regular_file::open(&home.join(FILE)).ok()?;
    if log_id != 0 && identity(&file) != log_id {
        return None;
    }
    lock(&file, File::try_lock_shared).ok()?;
    let line = BufReader::new(file).lines().nth(offset)?.ok()?;
    let line: MessageLine = serde_json::from_str(&line).ok()?;
    Some(HistoryEntry {
        conversation_id: line.session_id,
        ts: line.ts,
        text: line.text,
    })
}

fn identity(file: &File) -> u64 {
    let metadata = file.metadata();
    metadata.map_or(0, |metadata| codex_system::file::file_number(&metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(home: &Path, text: &str, max_bytes: Option<u64>) {
        let thread = ThreadId("t".to_owned());
        add_message(home, &thread, text, Timestamp::UNIX_EPOCH, max_bytes).unwrap();
    }

    #[test]
    fn entry_numbers_hold_within_one_file() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        assert_eq!(message_history(home), MessageHistoryState::default());
        assert_eq!(message_at(home, 0, 0), None);
        add(home, "one\ntwo", None);
        add(home, "three", None);
        let state = message_history(home);
        assert_eq!(state.entry_count, 2);
        let text = |id, offset| message_at(home, id, offset).map(|entry| entry.text);
        assert_eq!(text(state.log_id, 0).as_deref(), Some("one\ntwo"));
        assert_eq!(text(0, 1).as_deref(), Some("three"));
        assert_eq!(text(state.log_id, 2), None);
        assert_eq!(text(state.log_id + 1, 0), None);
    }

    #[test]
    fn the_oldest_entries_make_room() {
        let home = tempfile::tempdir().unwrap();
        for number in 0..20 {
            add(home.path(), &format!("message {number:02}"), Some(500));
        }
        let length = std::fs::metadata(home.path().join(FILE)).unwrap().len();
        assert!(length <= 500, "{length}");
        let count = message_history(home.path()).entry_count;
        let last = message_at(home.path(), 0, count - 1).unwrap();
        assert_eq!(last.text, "message 19");
        add(home.path(), &"x".repeat(1_000), Some(500));
        assert_eq!(
            message_history(home.path()).entry_count,
            1,
            "the newest stays"
        );
    }

    #[cfg(unix)]
    #[test]
    fn message_history_has_owner_only_mode() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        add(home.path(), "secret", None);
        let metadata = std::fs::metadata(home.path().join(FILE)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }
}
