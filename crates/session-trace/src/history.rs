//! The history of a session that continues a stored thread or copies one.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use codex_core::{StartingHistory, StartingThread};
use codex_protocol::{RolloutItem, RolloutLine};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// The name of the protocol event with the history.
pub const HISTORY_EVENT: &str = "session_history";

/// A longer rollout is left out.
const MAX_HISTORY_BYTES: u64 = 256 << 20;

/// The lines that the history of a session was rebuilt from.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordedHistory {
    /// The name of the rollout; none if there was no file.
    pub file_name: Option<String>,
    /// Whether the session continues the thread of the file.
    pub is_resumed: bool,
    pub lines: Vec<Box<RawValue>>,
}

/// A history that is read when its event is written.
#[derive(Debug)]
pub(crate) struct UnreadHistory {
    is_resumed: bool,
    lines: UnreadLines,
}

#[derive(Debug)]
enum UnreadLines {
    Items(Vec<RolloutItem>),
    File { path: PathBuf, length: u64 },
}

impl UnreadHistory {
    /// The history of a thread; none if it has none, or too much.
    pub(crate) fn for_thread(thread: &StartingThread<'_>) -> Option<Self> {
        let lines = match thread.history {
            StartingHistory::None => return None,
            StartingHistory::Lines(items) => UnreadLines::Items(items.to_vec()),
            StartingHistory::File { length, .. } if length > MAX_HISTORY_BYTES => return None,
            StartingHistory::File { path, length } => UnreadLines::File {
                path: path.to_owned(),
                length,
            },
        };
        Some(Self {
            is_resumed: thread.is_resumed,
            lines,
        })
    }

    pub(crate) fn read(self) -> io::Result<RecordedHistory> {
        let is_resumed = self.is_resumed;
        Ok(match self.lines {
            UnreadLines::Items(items) => RecordedHistory {
                file_name: None,
                is_resumed,
                lines: items.into_iter().filter_map(raw_line).collect(),
            },
            UnreadLines::File { path, length } => RecordedHistory {
                file_name: file_name(&path),
                is_resumed,
                lines: read_lines(&path, length)?,
            },
        })
    }
}

fn raw_line(item: RolloutItem) -> Option<Box<RawValue>> {
    let line = RolloutLine {
        timestamp: String::new(),
        item,
    };
    to_raw_value(&line).ok()
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

/// The lines that are JSON; the engine skips others too.
fn read_lines(path: &Path, length: u64) -> io::Result<Vec<Box<RawValue>>> {
    let mut text = Vec::new();
    File::open(path)?.take(length).read_to_end(&mut text)?;
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| serde_json::from_slice(line).ok());
    Ok(lines.collect())
}
