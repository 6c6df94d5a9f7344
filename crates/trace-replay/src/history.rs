//! Starts a session with the history of a stored thread.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use codex_core::{ForkAt, SessionConfig, StartedThread, ThreadManager};
use codex_protocol::{RolloutItem, RolloutLine};
use codex_session_trace::RecordedHistory;

use crate::failure::ReplayFailure;

/// The name of a rollout whose name the recording does not have.
const ROLLOUT: &str = "history.jsonl";

/// Starts the session. The rollout is written below `home` first, because the engine reads it from there.
pub(crate) fn start(
    manager: &ThreadManager,
    config: SessionConfig,
    history: RecordedHistory,
    home: &Path,
) -> Result<StartedThread, ReplayFailure> {
    if history.file_name.is_none()
        && let Some(items) = items_of(&history)
    {
        return Ok(manager.start_with(config, items)?);
    }
    let name = history.file_name.as_deref().map(Path::new);
    let name = name.and_then(Path::file_name).unwrap_or(ROLLOUT.as_ref());
    let path = home.join("sessions").join(name);
    write(&path, &history)?;
    Ok(if history.is_resumed {
        manager.resume(&path, config)?
    } else {
        manager.fork(&path, ForkAt::End, config)?
    })
}

/// The items of a history that has nothing else.
fn items_of(history: &RecordedHistory) -> Option<Vec<codex_protocol::ResponseItem>> {
    let lines = history.lines.iter();
    let items = lines.map(|line| match RolloutLine::read(line.get()).ok()?.item {
        RolloutItem::ResponseItem(item) => Some(item),
        _ => None,
    });
    items.collect()
}

fn write(path: &Path, history: &RecordedHistory) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = io::BufWriter::new(fs::File::create(path)?);
    for line in &history.lines {
        writeln!(file, "{line}")?;
    }
    file.flush()
}
