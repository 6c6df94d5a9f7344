//! A turn that had not ended when its process did: found in the lines of its file, so that it can be continued.
//!
//! A call whose question was written and whose answer was not has not begun, because both are in the file before anything
//! follows from them. Any other call without an output may have begun.

use std::collections::BTreeSet;

use codex_protocol::{
    EventMsg, ResponseItem, RolloutItem, RolloutLine, SessionMeta, TurnStartedEvent,
};
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
    pub started: TurnStartedEvent,
}

/// A call without an output.
#[derive(Clone, Debug, PartialEq)]
pub struct UnfinishedCall {
    /// The id of the call, which is that of its item.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    pub item: ResponseItem,
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
pub struct UnfinishedLines {
    /// The line that starts the turn. Not parsed while reading, because a long thread has thousands of them.
    start: Box<[u8]>,
    has_message: bool,
    /// The calls that wait for an answer.
    asked: BTreeSet<String>,
}

impl UnfinishedLines {
    /// Takes an event line of this type. `found` is what is known from the lines before it.
    pub fn take(found: &mut Option<Self>, event: &str, line: ScannedLine<'_>) {
        match (event, &mut *found) {
            ("task_started" | "turn_started", _) => {
                *found = Some(Self {
                    start: line.bytes().into(),
                    has_message: false,
                    asked: BTreeSet::new(),
                });
            }
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

    /// Whether the turn is one of the thread with this metadata. A fork begins with the turns of another thread.
    pub fn is_of_thread(&self, meta: &SessionMeta) -> bool {
        if meta.forked_from_id.is_none() {
            return true;
        }
        let written = self.start_line().map(|line| line.timestamp.parse());
        match (written, meta.timestamp.parse::<Timestamp>()) {
            (Some(Ok(written)), Ok(forked)) => forked <= written,
            _ => false,
        }
    }

    fn start_line(&self) -> Option<RolloutLine> {
        RolloutLine::read(std::str::from_utf8(&self.start).ok()?).ok()
    }

    /// The id of the turn.
    pub fn turn_id(&self) -> Option<String> {
        match self.start_line()?.item {
            RolloutItem::EventMsg(EventMsg::TurnStarted(started)) => Some(started.turn_id),
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
    pub fn with_calls(self, conversation: &Conversation) -> Option<UnfinishedTurn> {
        if !self.has_message || conversation.reference.is_none() {
            return None;
        }
        let open = conversation.history.open_calls();
        let (waiting, interrupted) = open
            .into_iter()
            .filter_map(unfinished_call)
            .partition(|call| self.asked.contains(&call.id));
        let RolloutItem::EventMsg(EventMsg::TurnStarted(started)) = self.start_line()?.item else {
            return None;
        };
        Some(UnfinishedTurn {
            waiting,
            interrupted,
            started,
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
