//! What the model of a realtime conversation is told at its start: the thread, other threads, the folder.
//!
//! Every part has a budget. Reading fails silently: a conversation can be held without it.

use std::collections::VecDeque;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use codex_core::RealtimeThread;
use codex_protocol::{EventMsg, RolloutItem};
use codex_thread_store::{ThreadQuery, ThreadStore};

/// About four bytes are a token.
const TOKEN: usize = 4;
/// The whole text.
pub(crate) const CONTEXT_BYTES: usize = 5000 * TOKEN;
const THREAD_BYTES: usize = 1200 * TOKEN;
const OTHERS_BYTES: usize = 2200 * TOKEN;
const FOLDER_BYTES: usize = 1600 * TOKEN;
const OTHER_THREADS: usize = 20;
/// How many folders below the working folder are listed, and how many entries of one.
const DEPTH: usize = 2;
const ENTRIES: usize = 40;

/// The text about a thread.
pub(crate) async fn about(store: Option<&ThreadStore>, thread: &RealtimeThread) -> String {
    let others = match store {
        Some(store) => other_threads(store, thread).await,
        None => String::new(),
    };
    let (rollout, cwd) = (thread.rollout.clone(), thread.cwd.clone());
    let read = tokio::task::spawn_blocking(move || (last_messages(rollout), folder(&cwd)));
    let (said, folder) = read.await.unwrap_or_default();
    let cwd = thread.cwd.display();
    let parts = [
        ("What was said in this thread".to_owned(), said),
        (
            "Other threads of the user, the newest first".to_owned(),
            others,
        ),
        (format!("The working folder {cwd}"), folder),
    ];
    let mut text =
        "This was put together when the conversation started and is not complete.".to_owned();
    for (title, part) in parts {
        if !part.is_empty() {
            let _ = write!(text, "\n\n# {title}\n\n{}", part.trim_end());
        }
    }
    cut(&text, CONTEXT_BYTES).to_owned()
}

/// The last messages of a thread.
fn last_messages(rollout: Option<PathBuf>) -> String {
    let mut messages = VecDeque::new();
    let mut bytes = 0;
    let scanned = rollout.map(|path| {
        codex_rollout::scan(&path, |line| {
            let is_message = line.kind().is_some_and(|(kind, payload)| {
                kind == "event_msg"
                    && matches!(payload.as_deref(), Some("user_message" | "agent_message"))
            });
            if is_message
                && let Some(line) = line.read()
                && let RolloutItem::EventMsg(event) = line.item
                && let Some(message) = message(&event)
            {
                bytes += message.len();
                messages.push_back(message);
                while bytes > THREAD_BYTES && messages.len() > 1 {
                    bytes -= messages.pop_front().map_or(0, |old: String| old.len());
                }
            }
            ControlFlow::Continue(())
        })
    });
    if let Some(Err(error)) = scanned {
        tracing::debug!(%error, "a realtime conversation starts without what was said");
    }
    let text: String = messages.into_iter().collect();
    cut(&text, THREAD_BYTES).to_owned()
}

fn message(event: &EventMsg) -> Option<String> {
    let (role, text) = match event {
        EventMsg::UserMessage(message) => ("user", message.message.clone()),
        EventMsg::AgentMessage(message) => ("assistant", message.message.as_str().into_owned()),
        _ => return None,
    };
    let text = cut(text.trim(), THREAD_BYTES / 4);
    Some(format!("{role}: {text}\n"))
}

async fn other_threads(store: &ThreadStore, thread: &RealtimeThread) -> String {
    let query = ThreadQuery::newest_of_people(OTHER_THREADS, thread.id.clone());
    let mut text = String::new();
    let listed = store.list(query).await;
    for other in listed.map(|page| page.threads).unwrap_or_default() {
        let facts = &other.facts;
        let title = other.name.as_deref().or(facts.preview.as_deref());
        let title = title.and_then(|title| title.lines().next());
        let _ = writeln!(
            text,
            "- {} (in {})",
            cut(title.unwrap_or_default(), 200),
            facts.cwd
        );
    }
    cut(&text, OTHERS_BYTES).to_owned()
}

/// The files and folders of a folder, without hidden ones.
fn folder(path: &Path) -> String {
    let mut text = String::new();
    list(path, 0, &mut text);
    cut(&text, FOLDER_BYTES).to_owned()
}

fn list(path: &Path, depth: usize, text: &mut String) {
    let Ok(entries) = codex_mounts::read_dir(path) else {
        return;
    };
    let named = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let is_folder = entry.file_type().ok()?.is_dir();
        (!name.starts_with('.') && name != "node_modules" && name != "target")
            .then_some((name, is_folder))
    });
    // A folder with more entries is listed in part.
    let mut named: Vec<_> = named.take(10 * ENTRIES).collect();
    named.sort();
    let left_out = named.len().saturating_sub(ENTRIES);
    for (name, is_folder) in named.into_iter().take(ENTRIES) {
        if text.len() > FOLDER_BYTES {
            return;
        }
        let indent = "  ".repeat(depth);
        let slash = if is_folder { "/" } else { "" };
        let _ = writeln!(text, "{indent}{name}{slash}");
        if is_folder && depth < DEPTH {
            list(&path.join(&name), depth + 1, text);
        }
    }
    if left_out > 0 {
        let indent = "  ".repeat(depth);
        let _ = writeln!(text, "{indent}({left_out} more)");
    }
}

/// The beginning of a text, cut between characters.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use codex_protocol::ThreadId;

    #[tokio::test]
    async fn the_text_stays_within_its_budget() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..ENTRIES + 5 {
            let below = folder
                .path()
                .join(format!("folder-{number:03}-{}", "x".repeat(150)));
            std::fs::create_dir(&below).unwrap();
            std::fs::write(below.join("file"), "").unwrap();
        }
        std::fs::write(folder.path().join(".hidden"), "").unwrap();
        let thread = RealtimeThread {
            id: ThreadId("01a20e04-96b8-7ef1-8528-e59d0343893f".to_owned()),
            cwd: folder.path().to_owned(),
            rollout: None,
        };
        let text = about(None, &thread).await;
        assert!(text.len() < FOLDER_BYTES + 500, "{}", text.len());
        assert!(text.contains("folder-000"), "{text}");
        assert!(!text.contains(".hidden"), "{text}");
    }
}
