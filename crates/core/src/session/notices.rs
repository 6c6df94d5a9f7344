//! Items of the engine for the model that clients are not shown, for example that an agent is done.
//!
//! A running turn takes them for its next request; without one they become history at once. A task that takes no input
//! lets them wait. A replay takes each where the recorded session did.

use std::collections::VecDeque;
use std::sync::Arc;

use codex_protocol::ResponseItem;
use codex_session_base::history::Recorder;
use codex_session_base::input::{HiddenItem, Input, SavedInput, TurnInput};
use codex_session_base::ports::SessionInput;
use codex_session_base::thread::{TaskKind, ThreadClosed};

use super::actor::SessionActor;
use super::call::ThreadCall;

/// Adds items to what the model sees, without a turn: at once, or before the next request of the running turn. Replies once they
/// are recorded or kept on disk.
#[derive(Debug)]
pub struct InjectItems(pub Vec<ResponseItem>);

impl ThreadCall for InjectItems {
    type Reply = Result<(), ThreadClosed>;

    fn observed(&self) -> Option<SessionInput> {
        Some(SessionInput::Context(self.0.clone()))
    }

    async fn run(self, session: &mut SessionActor) -> Self::Reply {
        session.inject(self.0);
        Ok(())
    }
}

impl SessionActor {
    /// Adds an item for the model, now or when the running task is over.
    pub(super) fn add_notice(&mut self, item: ResponseItem) {
        self.add_hidden(item, None);
    }

    /// Adds items of a client, of which none is lost although they may have to wait.
    pub(super) fn inject(&mut self, items: Vec<ResponseItem>) {
        let task = self
            .running()
            .map(|running| running.scope.settings.id.to_string());
        for item in items {
            let saved = task.as_deref().and_then(|task| {
                let mut input = TurnInput {
                    hidden: vec![item.clone()],
                    ..TurnInput::default()
                };
                self.save(task, &mut input);
                input.saved
            });
            self.add_hidden(item, saved);
        }
    }

    fn add_hidden(&mut self, item: ResponseItem, saved: Option<Arc<SavedInput>>) {
        let item = Box::new(item);
        self.notices.push_back(HiddenItem { item, saved });
        self.place_notices();
    }

    /// Lets notices that an ended turn did not take wait before all others.
    pub(super) fn put_back_notices(&mut self, left: VecDeque<Input>) {
        for input in left.into_iter().rev() {
            if let Input::Hidden(item) = input {
                self.notices.push_front(item);
            }
        }
    }

    /// Places the notices that wait, in order, up to the first that has no place yet.
    pub(super) fn place_notices(&mut self) {
        while let Some(item) = self.notices.pop_front() {
            if let Err(item) = self.place_notice(item) {
                self.notices.push_front(item);
                break;
            }
        }
    }

    fn place_notice(&mut self, item: HiddenItem) -> Result<(), HiddenItem> {
        let running = self.running().map(|running| running.kind);
        if let Some(replay) = &self.context.config.services.replay
            && !replay.takes_notice(self.context.emitter.thread(), running.is_some())
        {
            return Err(item);
        }
        match running {
            None => self.record_notice(item),
            Some(TaskKind::Regular) => match self.put_into_turn(Input::Hidden(item)) {
                Err(Input::Hidden(item)) => Err(item),
                Ok(_) | Err(Input::User(_) | Input::Note(_)) => Ok(()),
            },
            Some(_) => Err(item),
        }
    }

    fn record_notice(&mut self, item: HiddenItem) -> Result<(), HiddenItem> {
        let model = self.base.model.resolve(&self.settings().model);
        let context = Arc::clone(&self.context);
        let Some(conversation) = self.idle() else {
            return Err(item);
        };
        let recorder = Recorder {
            emitter: &context.emitter,
            turn: "",
            policy: model.info.truncation(),
            raw_items: context.config.options.raw_items,
        };
        conversation.record(*item.item, &recorder);
        if let Some(saved) = item.saved {
            context.emitter.after_synchronising(move || saved.end());
        }
        if let Some(observer) = context.emitter.observer() {
            observer.notice_taken_while_idle();
        }
        Ok(())
    }
}
