//! Input that was accepted by a process that was killed before the file of the thread had it: the next process writes it there,
//! as the message of a turn that was interrupted.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use codex_protocol::{EventMsg, ThreadId, TurnStartedEvent};
use codex_rollout::{
    LineKind, RolloutLog, RolloutPath, RolloutWriter, SESSIONS, ScannedLine, WriteClaim, find,
    find_archived, scan,
};
use codex_session_base::context;
use codex_session_base::events::stored_user_message;
use codex_session_base::input::{LeftInput, SavedContent, TurnInput, left_inputs};
use codex_session_base::ports::{Clock, Ids, RandomIds};
use jiff::Timestamp;

/// What the file of a thread says about an input.
#[derive(Debug, Default)]
struct InputInLog {
    has_turn: bool,
    turn_ended: bool,
    has_input: bool,
}

/// Writes the inputs that killed processes have left in a home folder to the files of their threads. `writer` is only called
/// if there are any. Returns once they are written.
pub async fn write_left_inputs(
    home: &Path,
    clock: &dyn Clock,
    writer: impl FnOnce() -> io::Result<RolloutWriter>,
) {
    // Mostly there are none, and looking takes less than another thread would.
    let left = left_inputs(home);
    if left.is_empty() {
        return;
    }
    let writer = match writer() {
        Ok(writer) => writer,
        Err(error) => return tracing::warn!(%error, "accepted inputs are not written"),
    };
    for left in left {
        if let Err(error) = write_left(home, clock, &writer, left).await {
            tracing::warn!(%error, "an accepted input is not written to its thread");
        }
    }
}

async fn write_left(
    home: &Path,
    clock: &dyn Clock,
    writer: &RolloutWriter,
    left: LeftInput,
) -> io::Result<()> {
    let Some(content) = &left.content else {
        return left.remove();
    };
    let Some(path) = file_of(home, content)? else {
        return left.remove();
    };
    let found = look_for(&path, content)?;
    if found.has_input {
        codex_private_files::synchronise(&path)?;
        return left.remove();
    }
    let length = path.metadata()?.len();
    let claim = WriteClaim::to_loaded(home, &content.thread, length);
    let place = RolloutPath::of_file(path);
    let mut log = RolloutLog::existing(writer.clone(), place).claimed(claim);
    log.claim().map_err(io::Error::other)?;
    append(&mut log, clock.now(), content, &found).await;
    log.synchronise().await.map_err(io::Error::other)?;
    left.remove()
}

async fn append(log: &mut RolloutLog, now: Timestamp, content: &SavedContent, found: &InputInLog) {
    let input = TurnInput::from(content.input.clone());
    // What only the model sees needs no turn.
    if (!found.has_turn || found.turn_ended) && input.is_of_client() {
        // A turn that has ended is not begun again.
        let turn_id = if found.turn_ended {
            RandomIds.submission()
        } else {
            content.turn.clone()
        };
        let started = EventMsg::TurnStarted(TurnStartedEvent {
            turn_id,
            started_at: Some(now.as_second()),
            ..TurnStartedEvent::default()
        });
        log.append(now, LineKind::EventMsg, &started);
    }
    for item in &input.hidden {
        log.append(now, LineKind::ResponseItem, item);
    }
    if let Some(output) = &input.tool_output {
        for item in output.recorded(&content.item) {
            log.append(now, LineKind::ResponseItem, &item);
        }
    }
    if !input.items.is_empty() {
        let message = context::message_of(&input.items).await;
        log.append(now, LineKind::ResponseItem, &message);
        let event = stored_user_message(content.item.clone(), input, &message);
        log.append(now, LineKind::EventMsg, &EventMsg::UserMessage(event));
    }
}

/// The file of the thread, made if it had none. None if the thread is gone.
fn file_of(home: &Path, content: &SavedContent) -> io::Result<Option<PathBuf>> {
    let thread = &content.thread;
    // The process may have been killed between making the file and writing its first line.
    let is_begun = |file: &PathBuf| content.beginning.is_none() || has_line(file);
    let found = find(home, thread).or_else(|| find_archived(home, thread));
    if let Some(found) = found.filter(is_begun) {
        return Ok(Some(found));
    }
    // A thread may be resumed from a file elsewhere.
    if codex_mounts::is_file(&content.file)
        && codex_rollout::id_of(&content.file).as_ref() == Some(thread)
        && is_begun(&content.file)
    {
        return Ok(Some(content.file.clone()));
    }
    let Some(beginning) = &content.beginning else {
        return Ok(None);
    };
    if !is_place_of(home, &content.file, thread) {
        return Ok(None);
    }
    if let Some(folder) = content.file.parent() {
        codex_private_files::create_dir_all(folder)?;
    }
    codex_private_files::write(&content.file, beginning.as_bytes())?;
    Ok(Some(content.file.clone()))
}

/// Whether a file has a whole line.
fn has_line(file: &Path) -> bool {
    scan(file, |_| ControlFlow::Break(())).is_ok_and(|whole| whole > 0)
}

fn is_place_of(home: &Path, file: &Path, thread: &ThreadId) -> bool {
    let is_plain = !file.components().any(|part| part.as_os_str() == "..");
    is_plain
        && file.starts_with(home.join(SESSIONS))
        && codex_rollout::id_of(file).as_ref() == Some(thread)
}

fn look_for(path: &Path, content: &SavedContent) -> io::Result<InputInLog> {
    let mut found = InputInLog::default();
    // Items that only the model sees have no id.
    let hidden = match &*content.input.hidden {
        [item] if content.input.items.is_empty() => Some(serde_json::to_string(item)?),
        _ => None,
    };
    let has = |line: ScannedLine<'_>, text: &str| {
        memchr::memmem::find(line.bytes(), text.as_bytes()).is_some()
    };
    let scanned = scan(path, |line| {
        let (kind, event) = line.kind().unwrap_or_default();
        match (&*kind, event.as_deref().unwrap_or_default()) {
            ("event_msg", "task_started" | "turn_started") => {
                found.has_turn |= has(line, &content.turn);
            }
            ("event_msg", "task_complete" | "turn_complete" | "turn_aborted") => {
                found.turn_ended |= has(line, &content.turn);
            }
            ("event_msg", "user_message") => found.has_input |= has(line, &content.item),
            ("response_item", "function_call_output") if content.input.tool_output.is_some() => {
                found.has_input |= has(line, &content.item);
            }
            ("response_item", _) => {
                found.has_input |= hidden.as_ref().is_some_and(|item| has(line, item));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    match scanned {
        Ok(_) => Ok(found),
        Err(error) => Err(io::Error::other(error)),
    }
}
