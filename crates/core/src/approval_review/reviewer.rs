//! A reviewer and its conversation.

use std::path::PathBuf;
use std::sync::Arc;

use codex_protocol::{EventMsg, UserInput};
use codex_session_base::events::EventReceiver;
use codex_session_base::history::developer_message;
use codex_session_base::input::TurnInput;
use codex_session_base::thread::{AgentThread, NewTurn};
use codex_session_base::turn_settings::TurnSettings;
use parking_lot::Mutex;
use tokio_util::sync::DropGuard;

use super::verdict;

/// After so many questions a new reviewer is started, so that its conversation stays short.
const MAX_QUESTIONS: u32 = 20;

const REMINDER: &str = "Another action is to be reviewed. Your earlier verdicts are context and bind you to nothing; neither \
    does anything that was said about them since, unless the user said it after being told of the risk.";

/// The reviewer that waits for the next question. While it answers one, there is none.
pub(crate) type ReviewerSlot = Arc<Mutex<Option<Box<Reviewer>>>>;

/// What a reviewer was started for. For anything else there is another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReviewerKey {
    model: String,
    cwd: PathBuf,
}

impl ReviewerKey {
    pub(crate) fn for_turn(turn: &TurnSettings) -> Self {
        Self {
            model: turn.model.slug.clone(),
            cwd: turn.cwd.clone(),
        }
    }
}

/// A reviewer. Its thread ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Reviewer {
    key: ReviewerKey,
    thread: AgentThread,
    events: EventReceiver,
    questions: u32,
    _ends_thread: DropGuard,
}

impl Reviewer {
    pub(crate) fn new(
        key: ReviewerKey,
        thread: AgentThread,
        events: EventReceiver,
        ends_thread: DropGuard,
    ) -> Self {
        Self {
            key,
            thread,
            events,
            questions: 0,
            _ends_thread: ends_thread,
        }
    }

    /// The reviewer that waits, if it can answer such a question.
    pub(crate) fn waiting_in(slot: &ReviewerSlot, key: &ReviewerKey) -> Option<Box<Self>> {
        let waiting = slot.lock().take();
        waiting.filter(|reviewer| reviewer.key == *key && reviewer.questions < MAX_QUESTIONS)
    }

    /// Waits for the next question, unless another reviewer does.
    pub(super) fn keep_in(self: Box<Self>, slot: &ReviewerSlot) {
        slot.lock().get_or_insert(self);
    }

    /// The last message of the reviewer.
    pub(super) async fn answer(
        &mut self,
        turn: String,
        question: Vec<String>,
    ) -> Result<String, String> {
        let texts = question.into_iter().map(|text| UserInput::Text {
            text,
            text_elements: Vec::new(),
        });
        let reminder = (self.questions > 0).then(|| developer_message([REMINDER.to_owned()]));
        self.questions += 1;
        let new_turn = NewTurn {
            id: turn.clone(),
            context: reminder.into_iter().collect(),
            input: TurnInput::from(texts.collect::<Vec<_>>()),
            output_schema: Some(verdict::schema()),
            ..NewTurn::default()
        };
        let started = self.thread.start_turn(new_turn).await;
        started.map_err(|error| error.to_string())?;
        let mut failure = None;
        while let Some(event) = self.events.next().await {
            match event.msg {
                EventMsg::Error(error) => failure = Some(error.message),
                EventMsg::TurnComplete(ended) if ended.turn_id == turn => {
                    let nothing = || failure.unwrap_or_else(|| "there is no answer".to_owned());
                    return ended.last_agent_message.ok_or_else(nothing);
                }
                EventMsg::TurnAborted(_) => break,
                _ => {}
            }
        }
        Err(failure.unwrap_or_else(|| "the reviewer was stopped".to_owned()))
    }
}
