//! Questions of tools to the client: told as events, answered by operations.
//!
//! The session holds who waits for which answer. Dropping an entry tells its tool that no answer
//! will come.

use std::collections::HashMap;

use codex_mcp_client::ElicitationReply;
use codex_protocol::{DynamicToolResponse, EventMsg, RequestId, RequestUserInputResponse};
use tokio::sync::oneshot;

use super::Session;
use super::gatekeeper::{PendingApproval, PendingGrant};

/// Something that the client has to answer.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) key: QuestionKey,
    /// The turn that asks.
    pub(crate) turn: String,
    /// The event that asks.
    pub(crate) event: EventMsg,
}

/// What an answer names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum QuestionKey {
    /// May this run? By approval id.
    Approval(String),
    /// By turn.
    UserInput(String),
    /// By call.
    Permissions(String),
    /// By call.
    DynamicTool(String),
    /// By MCP server and its id for the question.
    Elicitation(String, RequestId),
}

/// What the client answered.
#[derive(Debug)]
pub(crate) enum Answer {
    UserInput(RequestUserInputResponse),
    DynamicTool(DynamicToolResponse),
    Elicitation(ElicitationReply),
}

/// Who waits for an answer.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions {
    asked: HashMap<QuestionKey, oneshot::Sender<Answer>>,
    approvals: HashMap<QuestionKey, PendingApproval>,
    grants: HashMap<QuestionKey, PendingGrant>,
}

impl OpenQuestions {
    pub(super) fn wait_for_answer(&mut self, key: QuestionKey, answer: oneshot::Sender<Answer>) {
        self.asked.insert(key, answer);
    }

    pub(super) fn wait_for_approval(&mut self, key: QuestionKey, pending: PendingApproval) {
        self.approvals.insert(key, pending);
    }

    pub(super) fn take_approval(&mut self, key: &QuestionKey) -> Option<PendingApproval> {
        self.approvals.remove(key)
    }

    pub(super) fn wait_for_grant(&mut self, key: QuestionKey, pending: PendingGrant) {
        self.grants.insert(key, pending);
    }

    pub(super) fn take_grant(&mut self, key: &QuestionKey) -> Option<PendingGrant> {
        self.grants.remove(key)
    }

    /// No answer will come any more.
    pub(super) fn drop_turn(&mut self) {
        *self = Self::default();
    }
}

impl Session {
    pub(super) fn ask(&mut self, question: Question, answer: oneshot::Sender<Answer>) {
        if self
            .running()
            .is_none_or(|running| *running.settings.id != *question.turn)
        {
            return;
        }
        self.questions.wait_for_answer(question.key, answer);
        self.services.emitter.emit(&question.turn, question.event);
    }

    /// Gives an answer to who waits for it. An answer that nobody waits for is ignored.
    pub(super) fn answer(&mut self, key: &QuestionKey, answer: Answer) {
        if let Some(waiting) = self.questions.asked.remove(key) {
            let _ = waiting.send(answer);
        }
    }
}
