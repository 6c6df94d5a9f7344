//! Appends metadata lines (a thread's name, its git facts) to a rollout or to a shared JSONL file. They are on the disk when that
//! returns.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use crate::line::{LineKind, encode};
use crate::ordinals::{next_ordinal, number_lines};

/// Appends one metadata line to a rollout. Restores the file's modification time, because a change of
/// metadata does not count as activity in the thread.
///
/// # Errors
/// The file does not exist or cannot be written.
pub fn amend(
    path: &Path,
    at: Timestamp,
    kind: LineKind,
    payload: &impl Serialize,
) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = codex_private_files::open(path, options.read(true).append(true))?;
    let modified = file.metadata()?.modified();
    let mut line = Vec::new();
    encode(&mut line, at, kind, &serde_json::to_vec(payload)?);
    if let Some(mut next) = next_ordinal(&mut file)? {
        line = number_lines(&line, &mut next);
    }
    append(&mut file, line)?;
    if let Ok(modified) = modified {
        file.set_modified(modified)?;
    }
    file.sync_data()
}

/// Appends a value to a JSONL file and creates the file if it does not exist.
///
/// # Errors
/// The file cannot be written.
pub fn append_line(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    let mut file = codex_private_files::open(path, &mut options)?;
    append(&mut file, line)?;
    file.sync_data()?;
    codex_private_files::synchronise_entry(path);
    Ok(())
}

/// Appends `line`, after a line break if the last line of the file is incomplete.
fn append(file: &mut File, mut line: Vec<u8>) -> io::Result<()> {
    if !ends_a_line(file)? {
        line.insert(0, b'\n');
    }
    // A single write keeps lines whole when several processes append.
    file.write_all(&line)
}

/// Whether the file is empty or ends with a line break.
pub(crate) fn ends_a_line(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_added_and_the_time_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        std::fs::write(&path, "{\"torn").unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(7);
        File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .set_modified(old)
            .unwrap();
        let at = Timestamp::UNIX_EPOCH;
        amend(&path, at, LineKind::EventMsg, &serde_json::json!({"a": 1})).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("{\"torn\n{\"timestamp\""), "{text}");
        assert!(text.ends_with("\"payload\":{\"a\":1}}\n"), "{text}");
        assert_eq!(path.metadata().unwrap().modified().unwrap(), old);
    }
}
