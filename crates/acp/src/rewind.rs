//! Going back to before an earlier message: the command `/rewind`, and the methods `_session/checkpoints` and `_session/rewind`.
//!
//! A message is one of the user, by the id that its chunks have. Files go back to the first checkpoint that a turn made
//! from that message on, and the conversation to before the message.

use std::fmt::Write as _;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{Error, Meta, SessionId};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::errors;
use crate::session::AcpSession;

pub(crate) const CHECKPOINTS: &str = "_session/checkpoints";
pub(crate) const REWIND: &str = "_session/rewind";

/// More turns are not looked through for a message.
const MAX_TURNS: usize = 10_000;
const PAGE: usize = 100;

/// How many checkpoints the command lists.
const MAX_LISTED: usize = 20;

/// Tells clients of the methods.
pub(crate) fn announced() -> Meta {
    let mut meta = Meta::new();
    let methods = json!({ "checkpoints": CHECKPOINTS, "rewind": REWIND });
    meta.insert("codex.checkpoints".to_owned(), methods);
    meta
}

/// `_session/checkpoints`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckpointsRequest {
    session_id: SessionId,
    cursor: Option<String>,
    limit: Option<u32>,
}

/// `_session/rewind`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RewindRequest {
    session_id: SessionId,
    /// The message to go back to, or else a checkpoint.
    message_id: Option<String>,
    checkpoint_id: Option<String>,
    #[serde(default)]
    restore: RestoredPart,
    /// `fail`, `skip` or `overwrite`.
    on_conflict: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum RestoredPart {
    Files,
    Conversation,
    #[default]
    Both,
}

impl RestoredPart {
    fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Conversation => "conversation",
            Self::Both => "both",
        }
    }
}

/// The checkpoints of a session, newest first, each with the message that its turn began with.
pub(crate) async fn checkpoints(
    agent: Arc<Agent>,
    request: CheckpointsRequest,
) -> Result<Value, Error> {
    let session = agent.session(&request.session_id)?;
    let thread = session.thread_id();
    let params = json!({ "threadId": thread, "sortDirection": "desc",
        "cursor": request.cursor, "limit": request.limit });
    let page = agent.call("thread/checkpoint/list", &params).await?;
    let listed = page["data"].as_array().cloned().unwrap_or_default();
    let turns = turns_until(&agent, thread, |_| false).await?;
    let checkpoints = listed.into_iter().map(|mut checkpoint| {
        let turn = turns.iter().find(|turn| turn["id"] == checkpoint["turnId"]);
        checkpoint["messageId"] = turn.map_or(Value::Null, |turn| json!(message_of(turn)));
        checkpoint
    });
    Ok(json!({ "checkpoints": checkpoints.collect::<Vec<_>>(), "nextCursor": page["nextCursor"] }))
}

pub(crate) async fn rewind(agent: Arc<Agent>, request: RewindRequest) -> Result<Value, Error> {
    let session = agent.session(&request.session_id)?;
    let target = RewindTarget {
        agent: &agent,
        thread: session.thread_id(),
        restore: request.restore,
        on_conflict: request.on_conflict.as_deref().unwrap_or("fail"),
        dry_run: request.dry_run,
    };
    match (&request.message_id, &request.checkpoint_id) {
        (Some(message), _) => target.to_message(message).await,
        (None, Some(checkpoint)) => target.to_checkpoint(checkpoint, target.restore).await,
        (None, None) => Err(errors::invalid("`messageId` or `checkpointId` is missing")),
    }
}

struct RewindTarget<'a> {
    agent: &'a Agent,
    thread: &'a str,
    restore: RestoredPart,
    on_conflict: &'a str,
    dry_run: bool,
}

impl RewindTarget<'_> {
    async fn to_checkpoint(&self, checkpoint: &str, part: RestoredPart) -> Result<Value, Error> {
        let params = json!({ "threadId": self.thread, "checkpointId": checkpoint,
            "restore": part.name(), "onConflict": self.on_conflict, "dryRun": self.dry_run });
        self.agent.call("thread/checkpoint/restore", &params).await
    }

    /// Files first. If the conversation cannot go back, they return.
    async fn to_message(&self, message: &str) -> Result<Value, Error> {
        let is_it = |turn: &Value| message_of(turn) == Some(message);
        let turns = turns_until(self.agent, self.thread, is_it).await?;
        if !turns.last().is_some_and(is_it) {
            return Err(errors::invalid(format!(
                "there is no message `{message}` of the user"
            )));
        }
        let mut done = empty_rewind_report();
        if self.restore != RestoredPart::Conversation
            && let Some(checkpoint) = self.first_checkpoint(&turns).await?
        {
            done = self.to_checkpoint(&checkpoint, RestoredPart::Files).await?;
        }
        let has_conflicts = done["conflicts"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        let is_refused = has_conflicts && self.on_conflict == "fail";
        if self.restore == RestoredPart::Files || self.dry_run || is_refused {
            return Ok(done);
        }
        let params = json!({ "threadId": self.thread, "numTurns": turns.len() });
        let rolled_back = self.agent.call("thread/rollback", &params).await;
        if let (Err(_), Some(undo)) = (&rolled_back, done["undoCheckpointId"].as_str()) {
            self.to_checkpoint(undo, RestoredPart::Files).await?;
        }
        rolled_back.map(|_| done)
    }

    /// The oldest checkpoint of these turns.
    async fn first_checkpoint(&self, turns: &[Value]) -> Result<Option<String>, Error> {
        let mut cursor = Value::Null;
        loop {
            let params = json!({ "threadId": self.thread, "sortDirection": "asc",
                "cursor": cursor, "limit": PAGE });
            let page = self.agent.call("thread/checkpoint/list", &params).await?;
            let mut listed = page["data"].as_array().into_iter().flatten();
            let is_of_turns =
                |checkpoint: &&Value| turns.iter().any(|turn| turn["id"] == checkpoint["turnId"]);
            if let Some(first) = listed.find(is_of_turns) {
                return Ok(first["id"].as_str().map(str::to_owned));
            }
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                return Ok(None);
            }
        }
    }
}

fn empty_rewind_report() -> Value {
    json!({ "changed": [], "conflicts": [], "notKept": [], "undoCheckpointId": null })
}

/// The turns of a thread, newest first, up to the first one that `is_last`.
async fn turns_until(
    agent: &Agent,
    thread: &str,
    is_last: impl Fn(&Value) -> bool,
) -> Result<Vec<Value>, Error> {
    let mut turns = Vec::new();
    let mut cursor = Value::Null;
    while turns.len() < MAX_TURNS {
        let params = json!({ "threadId": thread, "cursor": cursor, "limit": PAGE });
        let page = agent.call("thread/turns/list", &params).await?;
        for turn in page["data"].as_array().into_iter().flatten() {
            turns.push(turn.clone());
            if is_last(turn) {
                return Ok(turns);
            }
        }
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    Ok(turns)
}

/// The message of the user that a turn began with.
fn message_of(turn: &Value) -> Option<&str> {
    let mut items = turn["items"].as_array()?.iter();
    items.find(|item| item["type"] == "userMessage")?["id"].as_str()
}

/// `/rewind`: lists, or goes back.
pub(crate) async fn command(
    agent: &Agent,
    session: &AcpSession,
    rest: &str,
) -> Result<String, Error> {
    let params =
        json!({ "threadId": session.thread_id(), "sortDirection": "desc", "limit": MAX_LISTED });
    let page = agent.call("thread/checkpoint/list", &params).await?;
    let listed = page["data"].as_array().map_or(&[][..], Vec::as_slice);
    let mut words = rest.split_whitespace();
    let Some(chosen) = words.next() else {
        return Ok(list(listed));
    };
    let by_number = chosen
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1));
    let checkpoint = match by_number {
        Some(at) => listed
            .get(at)
            .and_then(|checkpoint| checkpoint["id"].as_str()),
        None => Some(chosen),
    };
    let Some(checkpoint) = checkpoint else {
        return Err(errors::invalid(format!(
            "there is no checkpoint {chosen}; `/rewind` lists them"
        )));
    };
    let mut target = RewindTarget {
        agent,
        thread: session.thread_id(),
        restore: RestoredPart::Both,
        on_conflict: "fail",
        dry_run: false,
    };
    for word in words {
        match word {
            "files" => target.restore = RestoredPart::Files,
            "conversation" => target.restore = RestoredPart::Conversation,
            "both" => target.restore = RestoredPart::Both,
            "skip" | "overwrite" => target.on_conflict = word,
            "preview" => target.dry_run = true,
            _ => {
                return Err(errors::invalid(format!(
                    "`{word}` is not known; see `/rewind`"
                )));
            }
        }
    }
    let done = target.to_checkpoint(checkpoint, target.restore).await?;
    Ok(outcome(&done, &target))
}

fn list(checkpoints: &[Value]) -> String {
    if checkpoints.is_empty() {
        return "No turn of this session has changed files.".to_owned();
    }
    let mut text = "Go back to before one of these:\n\n".to_owned();
    for (at, checkpoint) in checkpoints.iter().enumerate() {
        let label = checkpoint["label"].as_str().unwrap_or_default();
        let count = |name: &str| checkpoint[name].as_u64().unwrap_or(0);
        let _ = write!(
            text,
            "{}. {label} ({} files, +{} -{}",
            at + 1,
            count("files"),
            count("insertions"),
            count("deletions")
        );
        if checkpoint["coverage"] != "complete" {
            text.push_str(", not everything can be brought back");
        }
        text.push_str(")\n");
    }
    text.push_str(
        "\n`/rewind 1` brings files and conversation back. Besides: `files` or `conversation` alone, `preview`, and \
         `skip` or `overwrite` for files that somebody else has changed.",
    );
    text
}

fn outcome(done: &Value, target: &RewindTarget<'_>) -> String {
    let paths = |name: &str| {
        let all = done[name].as_array().into_iter().flatten();
        let lines = all.map(|file| format!("- {}\n", file["path"].as_str().unwrap_or_default()));
        lines.collect::<String>()
    };
    let (changed, conflicts) = (paths("changed"), paths("conflicts"));
    if !conflicts.is_empty() && target.on_conflict == "fail" {
        return format!(
            "Nothing was changed. Somebody else has changed these files since; repeat it with `skip` or \
             `overwrite`:\n\n{conflicts}"
        );
    }
    let mut text = match (target.dry_run, changed.is_empty()) {
        (_, true) => "No file is different.\n".to_owned(),
        (true, false) => format!("These files would go back:\n\n{changed}"),
        (false, false) => format!("These files went back:\n\n{changed}"),
    };
    let not_kept = paths("notKept");
    if !not_kept.is_empty() {
        let _ = write!(text, "\nThese cannot be brought back:\n\n{not_kept}");
    }
    if !target.dry_run && target.restore != RestoredPart::Files {
        text.push_str("\nThe conversation went back, too.\n");
    }
    if done["undoCheckpointId"].is_string() {
        text.push_str("\n`/rewind 1 files` takes this back.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_are_listed_by_number() {
        assert!(list(&[]).contains("No turn"));
        let checkpoint = |label: &str, coverage: &str| json!({ "label": label, "files": 2, "insertions": 3, "deletions": 1, "coverage": coverage });
        let text = list(&[checkpoint("one", "complete"), checkpoint("two", "partial")]);
        assert!(text.contains("1. one (2 files, +3 -1)\n"), "{text}");
        assert!(
            text.contains("2. two (2 files, +3 -1, not everything"),
            "{text}"
        );
    }

    #[test]
    fn a_turn_is_named_by_its_message() {
        let turn = json!({ "items": [{ "type": "agentMessage", "id": "a" },
            { "type": "userMessage", "id": "u" }] });
        assert_eq!(message_of(&turn), Some("u"));
        assert_eq!(message_of(&json!({ "items": [] })), None);
    }
}
