//! Unsaved buffers of the editor, read and written with `fs/*` if the client supports it.
//!
//! The model gets the linked files of a prompt as the editor has them. The engine applies a patch to the disk; the
//! same edit is then applied to the editor's buffer, so that neither the patch nor the user's unsaved text is lost.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ContentBlock, Error, NoticeSeverity, ReadTextFileRequest, ReadTextFileResponse,
    WriteTextFileRequest,
};
use codex_app_server_protocol::v2::{PatchApplyStatus, ThreadItem};
use serde_json::Value;

use crate::agent::Agent;
use crate::messages::{message_chunk, notice};
use crate::session::AcpSession;
use crate::{diffs, errors, prompt_blocks};

/// Longer buffers are not added to a prompt.
const LIMIT: usize = 1024 * 1024;
/// A file longer than this is taken to differ from its buffer.
const FILE_LIMIT: u64 = LIMIT as u64;

/// The text of linked files whose buffer differs from the file on disk.
pub(crate) async fn unsaved(
    agent: &Agent,
    session: &AcpSession,
    blocks: &[ContentBlock],
) -> HashMap<String, String> {
    let mut unsaved = HashMap::new();
    if !agent.client_features().reads_files {
        return unsaved;
    }
    for (uri, path) in prompt_blocks::linked_files(blocks) {
        if codex_mounts::is_dir(&path) {
            continue;
        }
        let saved = codex_regular_file::read_text(&path, FILE_LIMIT).ok();
        match read(agent, session, &path).await {
            Ok(text) if text.len() <= LIMIT && saved.as_ref() != Some(&text) => {
                unsaved.insert(uri, text);
            }
            _ => {}
        }
    }
    unsaved
}

async fn read(agent: &Agent, session: &AcpSession, path: &Path) -> Result<String, Error> {
    let request = ReadTextFileRequest::new(session.id.clone(), path);
    let reply = agent.peer.request("fs/read_text_file", request).await;
    let reply: ReadTextFileResponse = reply.map_err(errors::from_client)?;
    Ok(reply.content)
}

/// After a patch: applies its edits to the editor's buffers.
pub(crate) fn after(agent: &Arc<Agent>, session: &Arc<AcpSession>, item: &ThreadItem) {
    let client_features = agent.client_features();
    let ThreadItem::FileChange {
        changes,
        status: PatchApplyStatus::Completed,
        ..
    } = item
    else {
        return;
    };
    if !client_features.reads_files || !client_features.writes_files {
        return;
    }
    let (agent, owner, changes) = (Arc::clone(agent), Arc::clone(session), changes.clone());
    let work = tokio::spawn(async move {
        for (path, old, new) in diffs::edits(changes).await {
            if bring_up_to_date(&agent, &owner, &path, &old, &new)
                .await
                .is_err()
            {
                notify_conflict(&agent, &owner, &path).await;
            }
        }
    });
    session.state().buffers.push(work);
}

/// The edit does not apply to the text of the buffer.
struct Conflict;

/// Applies the edit to a buffer and writes the buffer.
async fn bring_up_to_date(
    agent: &Agent,
    session: &AcpSession,
    path: &Path,
    old: &str,
    new: &str,
) -> Result<(), Conflict> {
    let Ok(buffer) = read(agent, session, path).await else {
        // The editor cannot read this file.
        return Ok(());
    };
    match merged(&buffer, old, new) {
        Merged::UpToDate => Ok(()),
        Merged::Text(text) => {
            let request = WriteTextFileRequest::new(session.id.clone(), path, text);
            let written = agent
                .peer
                .request::<Value>("fs/write_text_file", request)
                .await;
            written.map(|_| ()).map_err(|_| Conflict)
        }
        Merged::Conflict => Err(Conflict),
    }
}

#[derive(Debug, PartialEq)]
enum Merged {
    UpToDate,
    Text(String),
    Conflict,
}

/// The text of the buffer after the edit from `old` to `new`.
fn merged(buffer: &str, old: &str, new: &str) -> Merged {
    if buffer == new {
        return Merged::UpToDate;
    }
    match diffy::merge(old, buffer, new) {
        Ok(text) if text == buffer => Merged::UpToDate,
        Ok(text) => Merged::Text(text),
        Err(_) => Merged::Conflict,
    }
}

async fn notify_conflict(agent: &Agent, session: &AcpSession, path: &Path) {
    let title = format!(
        "{} has changes that are not saved where the agent changed it too; the file on the disk has those of the agent",
        path.display()
    );
    let updates = if agent.client_features().notices {
        notice(NoticeSeverity::Warning, &title, None)
    } else {
        vec![message_chunk(&format!("\n\nWarning: {title}\n\n"), None)]
    };
    for update in updates {
        agent.update(&session.id, update).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD_TEXT: &str = "a\nb\nc\nd\ne\n";
    const NEW_TEXT: &str = "a\nB\nc\nd\ne\n";

    #[test]
    fn a_buffer_that_is_saved_becomes_the_file() {
        assert_eq!(
            merged(OLD_TEXT, OLD_TEXT, NEW_TEXT),
            Merged::Text(NEW_TEXT.to_owned())
        );
        assert_eq!(merged(NEW_TEXT, OLD_TEXT, NEW_TEXT), Merged::UpToDate);
    }

    #[test]
    fn concurrent_buffer_edits_are_kept() {
        let typed = "a\nb\nc\nd\nE!\n";
        assert_eq!(
            merged(typed, OLD_TEXT, NEW_TEXT),
            Merged::Text("a\nB\nc\nd\nE!\n".to_owned())
        );
        assert_eq!(
            merged("a\nmine\nc\nd\ne\n", OLD_TEXT, NEW_TEXT),
            Merged::Conflict
        );
    }
}
