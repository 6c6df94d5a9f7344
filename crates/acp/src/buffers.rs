//! Buffers of the editor that are not saved, through `fs/*` where the client offers it.
//!
//! Files that a prompt links to are shown to the model as the editor has them. A patch of the engine goes to the
//! disk; afterwards it is made in the editor's buffer too, so that neither its text nor what the user typed is lost.

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
use crate::session::Session;
use crate::{diffs, errors, prompt_blocks, updates};

/// A buffer longer than this does not go along with a prompt.
const LIMIT: usize = 1024 * 1024;

/// The text of files that the prompt links to, where the editor has another one than the disk.
pub(crate) async fn unsaved(
    agent: &Agent,
    session: &Session,
    blocks: &[ContentBlock],
) -> HashMap<String, String> {
    let mut unsaved = HashMap::new();
    if !agent.offers().reads_files {
        return unsaved;
    }
    for (uri, path) in prompt_blocks::linked_files(blocks) {
        if path.is_dir() {
            continue;
        }
        let saved = std::fs::read_to_string(&path).ok();
        match read(agent, session, &path).await {
            Ok(text) if text.len() <= LIMIT && saved.as_ref() != Some(&text) => {
                unsaved.insert(uri, text);
            }
            _ => {}
        }
    }
    unsaved
}

async fn read(agent: &Agent, session: &Session, path: &Path) -> Result<String, Error> {
    let request = ReadTextFileRequest::new(session.id.clone(), path);
    let reply = agent.peer.request("fs/read_text_file", request).await;
    let reply: ReadTextFileResponse = reply.map_err(errors::of_client)?;
    Ok(reply.content)
}

/// After a patch: brings the editor's buffers to what the files are now.
pub(crate) fn after(agent: &Arc<Agent>, session: &Arc<Session>, item: &ThreadItem) {
    let offers = agent.offers();
    let ThreadItem::FileChange {
        changes,
        status: PatchApplyStatus::Completed,
        ..
    } = item
    else {
        return;
    };
    if !offers.reads_files || !offers.writes_files {
        return;
    }
    let (agent, owner, changes) = (Arc::clone(agent), Arc::clone(session), changes.clone());
    let work = tokio::spawn(async move {
        for (path, old, new) in diffs::edits(changes).await {
            if bring_up_to_date(&agent, &owner, &path, &old, &new)
                .await
                .is_err()
            {
                tell_conflict(&agent, &owner, &path).await;
            }
        }
    });
    session.state().buffers.push(work);
}

/// The edit does not fit what the buffer holds.
struct Conflict;

/// Writes what the buffer should be now.
async fn bring_up_to_date(
    agent: &Agent,
    session: &Session,
    path: &Path,
    old: &str,
    new: &str,
) -> Result<(), Conflict> {
    let Ok(buffer) = read(agent, session, path).await else {
        // The editor cannot show this file.
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

/// The buffer with the edit from `old` to `new` made in it.
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

async fn tell_conflict(agent: &Agent, session: &Session, path: &Path) {
    let title = format!(
        "{} has changes that are not saved where the agent changed it too; the file on the disk has those of the agent",
        path.display()
    );
    let told = if agent.offers().notices {
        updates::notice(NoticeSeverity::Warning, &title, None)
    } else {
        vec![updates::message_chunk(
            &format!("\n\nWarning: {title}\n\n"),
            None,
        )]
    };
    for update in told {
        agent.update(&session.id, update).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "a\nb\nc\nd\ne\n";
    const NEW: &str = "a\nB\nc\nd\ne\n";

    #[test]
    fn a_buffer_that_is_saved_becomes_the_file() {
        assert_eq!(merged(OLD, OLD, NEW), Merged::Text(NEW.to_owned()));
        assert_eq!(merged(NEW, OLD, NEW), Merged::UpToDate);
    }

    #[test]
    fn what_was_typed_elsewhere_stays() {
        let typed = "a\nb\nc\nd\nE!\n";
        assert_eq!(
            merged(typed, OLD, NEW),
            Merged::Text("a\nB\nc\nd\nE!\n".to_owned())
        );
        assert_eq!(merged("a\nmine\nc\nd\ne\n", OLD, NEW), Merged::Conflict);
    }
}
