//! Reading a rollout back.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use codex_protocol::{RolloutItem, RolloutLine, SessionMeta, ThreadId};

use crate::scan::scan;

/// Within so many lines a rollout says what it is.
const HEAD_LINES: usize = 10;
/// The most that is read of them.
const HEAD_LIMIT: u64 = 32 * 1024 * 1024;

/// Why a rollout cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The operating system refused.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("empty session file")]
    Empty,
    /// No line says what thread it is.
    #[error("failed to parse thread ID from rollout file")]
    NoMeta,
}

/// What a rollout holds.
#[derive(Debug)]
pub struct Loaded {
    /// The first line that says what thread it is.
    pub meta: SessionMeta,
    /// Every line that could be read, that one included.
    pub items: Vec<RolloutItem>,
    /// How many lines could not be read.
    pub skipped: usize,
}

/// Reads a whole rollout, line by line. Lines that cannot be read are counted and skipped; what it
/// goes on from is part of it.
///
/// # Errors
/// The file cannot be read, or it is no rollout.
pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    let mut items = Vec::new();
    let mut skipped = 0;
    scan(path, |line| {
        match line.read() {
            Some(line) => items.push(line.item),
            None => skipped += 1,
        }
        ControlFlow::Continue(())
    })?;
    let meta = items.iter().find_map(|item| match item {
        RolloutItem::SessionMeta(meta) => Some((**meta).clone()),
        _ => None,
    });
    let meta = meta.ok_or(LoadError::NoMeta)?;
    Ok(Loaded {
        meta,
        items,
        skipped,
    })
}

/// The line at the head of a rollout that says what the thread is.
///
/// # Errors
/// The file cannot be read.
pub fn head(path: &Path, thread: &ThreadId) -> io::Result<Option<SessionMeta>> {
    let mut lines = BufReader::new(File::open(path)?.take(HEAD_LIMIT));
    let mut line = Vec::new();
    for _ in 0..HEAD_LINES {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if let Some(RolloutItem::SessionMeta(meta)) = item_of(line.trim_ascii())
            && meta.id == *thread
        {
            return Ok(Some(*meta));
        }
    }
    Ok(None)
}

/// The item of a line; none if it cannot be read or is of a kind that is not known.
fn item_of(line: &[u8]) -> Option<RolloutItem> {
    let line = RolloutLine::read(std::str::from_utf8(line).ok()?).ok()?;
    (!matches!(line.item, RolloutItem::Kept(_))).then_some(line.item)
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: &str = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"a","timestamp":"t","cwd":"/","originator":"o","cli_version":"1","model_provider":null,"base_instructions":null}}"#;

    fn loaded(content: &[u8]) -> Result<Loaded, LoadError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        load(file.path())
    }

    #[test]
    fn bad_lines_are_skipped_one_by_one() {
        let mut content = format!("\n{META}\nnot json\n").into_bytes();
        content.extend(b"\xff\xff\n");
        content.extend(br#"{"timestamp":"t","type":"novelty","payload":1}"#);
        content.extend(b"\n{\"timestamp\":\"t\",\"type\":\"event_msg\",\"payload\":{\"type\":\"context_compacted\"}}\n{\"torn");
        let loaded = loaded(&content).unwrap();
        assert_eq!(loaded.meta.id.as_str(), "a");
        assert_eq!((loaded.items.len(), loaded.skipped), (2, 4));
    }

    #[test]
    fn what_is_no_rollout_is_an_error() {
        assert!(matches!(loaded(b" \n"), Err(LoadError::Empty)));
        assert!(matches!(loaded(b"{}\n"), Err(LoadError::NoMeta)));
        assert!(matches!(
            load(Path::new("/no/such/file")),
            Err(LoadError::Io { .. })
        ));
    }
}
