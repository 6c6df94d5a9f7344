//! The input that waits for a running turn. A replay takes what the recorded turn took at the same point: whether an
//! input reaches a request or comes too late for it is a matter of microseconds otherwise.

use std::collections::VecDeque;

use codex_protocol::EventMsg;
use codex_session_base::config::TakenInput;
use codex_session_base::input::Input;

use super::scope::TurnScope;

impl TurnScope {
    fn recorded_inputs(&self) -> Option<Vec<TakenInput>> {
        let session = &self.session;
        let replay = session.config.services.replay.as_ref()?;
        replay.taken_inputs(session.emitter.thread())
    }

    /// Whether input waits for the next request.
    pub(super) fn has_input(&self) -> bool {
        match self.recorded_inputs() {
            Some(recorded) => !recorded.is_empty(),
            None => !self.input_queue.is_empty(),
        }
    }

    /// Whether messages of other agents wait. A replay takes them as they were recorded.
    pub(super) fn has_mail(&self) -> bool {
        let seat = self.tool_services.seat.as_ref();
        self.recorded_inputs().is_none() && seat.is_some_and(|seat| !seat.mailbox.is_empty())
    }

    /// Adds the messages of other agents that wait.
    fn with_mail(&self, mut taken: VecDeque<Input>) -> VecDeque<Input> {
        if let Some(seat) = &self.tool_services.seat {
            for mail in seat.mailbox.take() {
                let (item, ended) = mail.into_parts();
                if let Some(ended) = ended {
                    self.emitter().emit(EventMsg::SubAgentActivity(ended));
                }
                taken.push_back(Input::Note(Box::new(item)));
            }
        }
        taken
    }

    /// Takes what waits for the next request.
    pub(super) async fn take_input(&self) -> VecDeque<Input> {
        let taken = match self.recorded_inputs() {
            Some(recorded) => self.take_as_recorded(recorded).await,
            None => self.with_mail(self.input_queue.take()),
        };
        self.observe_taken(&taken);
        taken
    }

    /// Refuses more input, if none waits. Returns whether it does.
    pub(super) fn refuse_input_if_none_waits(&self) -> bool {
        match self.recorded_inputs() {
            Some(recorded) if recorded.is_empty() => {
                self.input_queue.refuse_more();
                true
            }
            Some(_) => false,
            None => self.input_queue.close_if_empty(),
        }
    }

    /// Refuses more input and takes what waits.
    pub(super) async fn take_last_input(&self) -> VecDeque<Input> {
        let left = match self.recorded_inputs() {
            Some(recorded) => {
                let left = self.take_as_recorded(recorded).await;
                self.input_queue.refuse_more();
                left
            }
            None => self.with_mail(self.input_queue.close()),
        };
        self.observe_taken(&left);
        left
    }

    async fn take_as_recorded(&self, recorded: Vec<TakenInput>) -> VecDeque<Input> {
        // Messages of agents are recorded as notes.
        if let Some(seat) = &self.tool_services.seat {
            seat.mailbox.take();
        }
        let mut taken = VecDeque::new();
        for input in recorded {
            taken.push_back(match input {
                TakenInput::Note(item) => Input::Note(item),
                TakenInput::User => self.input_queue.take_one(Input::is_of_user).await,
                TakenInput::Notice => self.input_queue.take_one(Input::is_notice).await,
            });
        }
        taken
    }

    fn observe_taken(&self, taken: &VecDeque<Input>) {
        if let Some(observer) = self.session.emitter.observer()
            && !taken.is_empty()
        {
            let taken: Vec<TakenInput> = taken.iter().map(Input::observed).collect();
            observer.inputs_taken(&taken);
        }
    }
}
