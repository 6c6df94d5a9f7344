//! Takes turns out of the history. Files stay as they are.

use std::io;
use std::sync::Arc;

use codex_protocol::{EventMsg, Op, ThreadRolledBackEvent, TokenUsageInfo};
use codex_session_base::history::Conversation;
use codex_session_base::stored_thread::{StoredThread, beginning_of};
use codex_session_base::thread::OperationResult;
use tokio::sync::oneshot;

use super::actor::SessionActor;
use super::call::ThreadCall;

/// Takes the last turns out of the history. It is refused while a turn runs.
#[derive(Debug)]
pub struct RollBack {
    /// The number of turns, at least one.
    pub num_turns: u32,
    /// The id of the first of them, if it is known.
    pub first_turn_id: Option<String>,
    /// What was used before them, if it is known.
    pub token_usage: Option<Box<TokenUsageInfo>>,
    /// Gets the end of it.
    pub reply: oneshot::Sender<OperationResult>,
}

impl ThreadCall for RollBack {
    type Reply = ();

    async fn run(self, session: &mut SessionActor) {
        let op = Op::ThreadRollback {
            num_turns: self.num_turns,
            first_turn_id: self.first_turn_id,
            token_usage: self.token_usage,
        };
        let id = session.context.ids.submission();
        session.operate(id, op, self.reply).await;
    }
}

impl SessionActor {
    pub(super) async fn roll_back(
        &mut self,
        id: &str,
        turns: ThreadRolledBackEvent,
        known: Option<Box<TokenUsageInfo>>,
    ) -> Result<(), String> {
        let refuse = |message: &str| Err(message.to_owned());
        if turns.num_turns == 0 {
            return refuse("num_turns must be >= 1");
        }
        if self.context.emitter.log_path().is_none() {
            return refuse("thread rollback requires a persisted rollout path");
        }
        if !self.context.emitter.has_file() {
            return refuse("nothing was said in this thread yet");
        }
        if self.idle().is_none() {
            return refuse("Cannot rollback while a turn is in progress.");
        }
        let before = match &turns.first_turn_id {
            Some(first) => self.before_turn(first.clone()).await,
            None => Ok(None),
        };
        let before = before.map_err(|error| format!("cannot read the thread: {error}"))?;
        let instructions = Arc::clone(&self.base.instructions.base);
        let Some(conversation) = self.idle() else {
            return refuse("Cannot rollback while a turn is in progress.");
        };
        let mut removed_calls = conversation.history.call_ids();
        match before {
            Some(before) => conversation.return_to_earlier(before),
            None => conversation.drop_user_turns(turns.num_turns),
        }
        for call in conversation.history.call_ids() {
            removed_calls.remove(&call);
        }
        let window = conversation
            .usage
            .info
            .and_then(|info| info.model_context_window);
        match known {
            Some(known) => conversation.usage.info = Some(*known),
            None => conversation.estimate(&instructions, window),
        }
        let usage = conversation.usage.event();
        self.unfinished = None;
        // The model does not know of their commands any more.
        let terminals = &self.base.tool_services.terminals;
        terminals.stop_of_calls(&removed_calls).await;
        let emitter = &self.context.emitter;
        emitter.emit(id, usage);
        emitter.emit(id, EventMsg::ThreadRolledBack(turns));
        Ok(())
    }

    /// The conversation as it was before a turn, from the file. None if the turn is not in it.
    async fn before_turn(&self, turn: String) -> io::Result<Option<Conversation>> {
        let emitter = &self.context.emitter;
        emitter.flush().await.map_err(io::Error::other)?;
        let Some(path) = emitter.log_path() else {
            return Ok(None);
        };
        let model = self.base.model.resolve(&self.settings().model).info;
        let policy = model.truncation();
        let reading = tokio::task::spawn_blocking(move || {
            let Some(begin) = beginning_of(&path, &turn)? else {
                return Ok(None);
            };
            StoredThread::read(&path, Some(begin), None, |_| {})
                .map(|stored| Some(Conversation::rebuilt(stored.lines, policy)))
        });
        let read = reading.await.map_err(io::Error::other)?;
        read.map_err(io::Error::other)
    }
}
