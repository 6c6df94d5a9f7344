//! Questions of tools to the client.

use codex_session_base::questions::{QuestionAnswer, QuestionKey, QuestionRequest};

use super::actor::SessionActor;
use super::call::ThreadCall;

impl ThreadCall for QuestionRequest {
    type Reply = ();

    /// Asks, if the turn that asks still runs.
    async fn run(self, session: &mut SessionActor) {
        let Self { question, reply } = self;
        if session.is_running(&question.turn) {
            session.questions.wait_for_answer(question.key, reply);
            session.context.emitter.emit(&question.turn, question.event);
        }
    }
}

impl SessionActor {
    /// Passes an answer on. One that nobody waits for is ignored.
    pub(super) fn answer(&mut self, key: &QuestionKey, answer: QuestionAnswer) {
        if let Some(waiting) = self.questions.take_answer(key) {
            let _ = waiting.send(answer);
        }
    }
}
