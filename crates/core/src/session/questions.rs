//! Questions of tools to the client.

use super::actor::SessionActor;
use crate::questions::{QuestionAnswer, QuestionKey, QuestionRequest};

impl SessionActor {
    /// Asks, if the turn that asks still runs.
    pub(super) fn ask(&mut self, request: QuestionRequest) {
        let QuestionRequest { question, reply } = request;
        if !self.is_running(&question.turn) {
            return;
        }
        self.questions.wait_for_answer(question.key, reply);
        self.context.emitter.emit(&question.turn, question.event);
    }

    /// Passes an answer on. One that nobody waits for is ignored.
    pub(super) fn answer(&mut self, key: &QuestionKey, answer: QuestionAnswer) {
        if let Some(waiting) = self.questions.take_answer(key) {
            let _ = waiting.send(answer);
        }
    }
}
