//! Reads a whole rollout.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use codex_protocol::{RolloutItem, RolloutLine, SessionMeta, ThreadId};

use crate::message_images::restore_all;
use crate::scan::scan;

/// The metadata must be among the first this many lines.
const HEAD_LINES: usize = 10;
/// Limit on the bytes read for those lines.
const HEAD_LIMIT: u64 = 32 * 1024 * 1024;

/// Why a rollout cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RolloutLoadError {
    /// An operating system error.
    #[error("cannot read {path}: {source}")]
    Io {
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// The file is empty.
    #[error("empty session file")]
    Empty,
    /// No line contains the metadata of the thread.
    #[error("failed to parse thread ID from rollout file")]
    NoMeta,
}

/// The content of a rollout.
#[derive(Debug)]
pub struct LoadedRollout {
    /// The metadata from the first line that has it.
    pub meta: SessionMeta,
    /// Every readable line, the metadata included.
    pub items: Vec<RolloutItem>,
    /// The number of unreadable lines.
    pub skipped: usize,
}

/// Reads a whole rollout and its bases, line by line. Unreadable lines are counted and skipped.
///
/// # Errors
/// The file cannot be read or is not a rollout.
pub fn load(path: &Path) -> Result<LoadedRollout, RolloutLoadError> {
    let mut items = Vec::new();
    let mut skipped = 0;
    scan(path, |line| {
        match line.read() {
            Some(line) => items.push(line.item),
            None => skipped += 1,
        }
        ControlFlow::Continue(())
    })?;
    restore_all(&mut items);
    let meta = items.iter().find_map(|item| match item {
        RolloutItem::SessionMeta(meta) => Some((**meta).clone()),
        _ => None,
    });
    let meta = meta.ok_or(RolloutLoadError::NoMeta)?;
    Ok(LoadedRollout {
        meta,
        items,
        skipped,
    })
}

/// Reads only the metadata line at the head of a rollout.
///
/// # Errors
/// The file cannot be read.
pub fn head(path: &Path, thread: &ThreadId) -> io::Result<Option<SessionMeta>> {
    let mut lines = BufReader::new(codex_regular_file::open(path)?.take(HEAD_LIMIT));
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

/// Parses a line; none if it cannot be parsed or its type is unknown.
fn item_of(line: &[u8]) -> Option<RolloutItem> {
    let line = RolloutLine::read(std::str::from_utf8(line).ok()?).ok()?;
    (!matches!(line.item, RolloutItem::Kept(_))).then_some(line.item)
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: &str = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"a","timestamp":"t","cwd":"/","originator":"o","cli_version":"1","model_provider":null,"base_instructions":null}}"#;

    fn loaded(content: &[u8]) -> Result<LoadedRollout, RolloutLoadError> {
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
    fn invalid_rollout_is_an_error() {
        assert!(matches!(loaded(b" \n"), Err(RolloutLoadError::Empty)));
        assert!(matches!(loaded(b"{}\n"), Err(RolloutLoadError::NoMeta)));
        assert!(matches!(
            load(Path::new("/no/such/file")),
            Err(RolloutLoadError::Io { .. })
        ));
    }
}
