//! The names that users gave to threads: an append-only JSONL file under the home folder.

use std::io;
use std::path::Path;

use codex_protocol::ThreadId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::amend::append_line;

const FILE: &str = "session_index.jsonl";

#[derive(Serialize, Deserialize)]
struct NameLine {
    id: ThreadId,
    thread_name: String,
    updated_at: String,
}

/// Sets the name of a thread.
///
/// # Errors
/// The file cannot be written.
pub fn set_name(home: &Path, id: &ThreadId, name: &str, at: Timestamp) -> io::Result<()> {
    let line = NameLine {
        id: id.clone(),
        thread_name: name.to_owned(),
        updated_at: format!("{at:.9}"),
    };
    append_line(&home.join(FILE), &line)
}

/// The newest name of a thread. Unreadable lines are skipped.
#[must_use]
pub fn name_of(home: &Path, id: &ThreadId) -> Option<String> {
    let text = codex_regular_file::read_text(&home.join(FILE), u64::MAX).ok()?;
    let mut lines = text.lines().rev().filter(|line| line.contains(id.as_str()));
    lines.find_map(|line| {
        let line: NameLine = serde_json::from_str(line).ok()?;
        (line.id == *id && !line.thread_name.trim().is_empty()).then_some(line.thread_name)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_newest_name_counts() {
        let home = tempfile::tempdir().unwrap();
        let (one, two) = (ThreadId::new(), ThreadId::new());
        assert_eq!(name_of(home.path(), &one), None);
        for (id, name) in [(&one, "old"), (&two, "other"), (&one, "new")] {
            set_name(home.path(), id, name, Timestamp::UNIX_EPOCH).unwrap();
        }
        assert_eq!(name_of(home.path(), &one).as_deref(), Some("new"));
        assert_eq!(name_of(home.path(), &two).as_deref(), Some("other"));

        let torn = fs::read_to_string(home.path().join(FILE)).unwrap() + "{\"id";
        fs::write(home.path().join(FILE), torn).unwrap();
        set_name(home.path(), &two, "later", Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(name_of(home.path(), &two).as_deref(), Some("later"));
    }
}
