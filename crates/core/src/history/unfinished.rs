//! A turn that had not ended when its process did: found in the lines of its file, so that it can be continued.
//!
//! A call whose question was written and whose answer was not has not begun, because both are in the file before anything
//! follows from them. Any other call without an output may have begun.

use std::collections::BTreeSet;

use codex_protocol::{EventMsg, ResponseItem, RolloutItem, SessionMeta, TurnStartedEvent};
use codex_rollout::ScannedLine;
use jiff::Timestamp;

use super::Conversation;

/// A turn that had not ended when its process did.
#[derive(Clone, Debug, PartialEq)]
pub struct UnfinishedTurn {
    /// The calls that wait for the answer of a person. None of them has begun.
    pub waiting: Vec<UnfinishedCall>,
    /// The calls that may have begun. They are not run again.
    pub interrupted: Vec<UnfinishedCall>,
    pub(crate) started: TurnStartedEvent,
}

/// A call without an output.
#[derive(Clone, Debug, PartialEq)]
pub struct UnfinishedCall {
    /// The id of the call, which is that of its item.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    pub(crate) item: ResponseItem,
}

impl UnfinishedTurn {
    /// The id of the turn.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.started.turn_id
    }
}

/// What the lines of a file say about its last turn, if that has not ended.
#[derive(Debug)]
pub(crate) struct UnfinishedLines {
    started: TurnStartedEvent,
    has_message: bool,
    /// The calls that wait for an answer.
    asked: BTreeSet<String>,
}

impl UnfinishedLines {
    /// Takes an event line of this type. `found` is what is known from the lines before it.
    pub(crate) fn take(
        found: &mut Option<Self>,
        event: &str,
        line: ScannedLine<'_>,
        meta: Option<&SessionMeta>,
    ) {
        match (event, &mut *found) {
            ("task_started" | "turn_started", _) => *found = Self::started(line, meta),
            (
                "task_complete"
                | "turn_complete"
                | "turn_aborted"
                | "thread_rolled_back"
                | "entered_review_mode",
                _,
            ) => *found = None,
            ("user_message", Some(turn)) => turn.has_message = true,
            ("question_asked" | "question_answered", Some(turn)) => turn.note_question(line),
            _ => {}
        }
    }

    fn started(line: ScannedLine<'_>, meta: Option<&SessionMeta>) -> Option<Self> {
        let line = line.read()?;
        // A fork begins with the lines of another thread, whose turns are not its own.
        let is_copied = meta.is_some_and(|meta| {
            let (written, forked) = (line.timestamp.parse(), meta.timestamp.parse());
            meta.forked_from_id.is_some()
                && written
                    .ok()
                    .zip(forked.ok())
                    .is_none_or(|(written, forked): (Timestamp, Timestamp)| written < forked)
        });
        match line.item {
            RolloutItem::EventMsg(EventMsg::TurnStarted(started)) if !is_copied => Some(Self {
                started,
                has_message: false,
                asked: BTreeSet::new(),
            }),
            _ => None,
        }
    }

    fn note_question(&mut self, line: ScannedLine<'_>) {
        match line.read().map(|line| line.item) {
            Some(RolloutItem::EventMsg(EventMsg::QuestionAsked(asked))) => {
                self.asked.insert(asked.call_id);
            }
            Some(RolloutItem::EventMsg(EventMsg::QuestionAnswered(answered))) => {
                self.asked.remove(&answered.call_id);
            }
            _ => {}
        }
    }

    /// The turn with its calls. None if it cannot be continued: its input is not in the file.
    pub(crate) fn with_calls(self, conversation: &Conversation) -> Option<UnfinishedTurn> {
        if !self.has_message || conversation.reference.is_none() {
            return None;
        }
        let open = conversation.history.open_calls();
        let (waiting, interrupted) = open
            .into_iter()
            .filter_map(unfinished_call)
            .partition(|call| self.asked.contains(&call.id));
        Some(UnfinishedTurn {
            waiting,
            interrupted,
            started: self.started,
        })
    }
}

fn unfinished_call(item: ResponseItem) -> Option<UnfinishedCall> {
    let (id, tool) = match &item {
        ResponseItem::FunctionCall { call_id, name, .. }
        | ResponseItem::CustomToolCall { call_id, name, .. } => (call_id.clone(), name.clone()),
        ResponseItem::LocalShellCall { call_id, id, .. } => {
            let id = call_id.clone().or_else(|| id.clone())?;
            (id, "local_shell".to_owned())
        }
        ResponseItem::ToolSearchCall { call_id, .. } => {
            (call_id.clone()?, "tool_search".to_owned())
        }
        _ => return None,
    };
    Some(UnfinishedCall { id, tool, item })
}
