//! The questions that wait for an answer of the client. Dropping an entry tells its tool that no answer will come.

use std::collections::HashMap;
use std::sync::Arc;

use codex_exec::HostAnswer;
use codex_host_policy::Host;
use codex_protocol::{RequestPermissionProfile, RequestPermissionsResponse};
use tokio::sync::oneshot;

use crate::gate::{ApprovalRequest, ConnectionRequest, Denied, Permit};
use crate::questions::{QuestionAnswer, QuestionKey};
use crate::turn_settings::TurnSettings;

/// The questions that wait for an answer.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions {
    asked: HashMap<QuestionKey, oneshot::Sender<QuestionAnswer>>,
    approvals: HashMap<QuestionKey, PendingApproval>,
    grants: HashMap<QuestionKey, PendingGrant>,
    /// By the ids of their questions.
    connections: HashMap<String, PendingConnection>,
}

impl OpenQuestions {
    pub(super) fn take_answer(
        &mut self,
        key: &QuestionKey,
    ) -> Option<oneshot::Sender<QuestionAnswer>> {
        self.asked.remove(key)
    }

    pub(super) fn wait_for_answer(
        &mut self,
        key: QuestionKey,
        answer: oneshot::Sender<QuestionAnswer>,
    ) {
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

    pub(super) fn wait_for_connection(&mut self, id: String, pending: PendingConnection) {
        self.connections.insert(id, pending);
    }

    /// The question about a host and port that is open already.
    pub(super) fn connection_to(
        &mut self,
        host: &Host,
        port: u16,
    ) -> Option<&mut PendingConnection> {
        self.connections
            .values_mut()
            .find(|pending| pending.connection.host == *host && pending.connection.port == port)
    }

    pub(super) fn take_connection(&mut self, id: &str) -> Option<PendingConnection> {
        self.connections.remove(id)
    }

    /// Whether a call waits for a person before it begins.
    pub(super) fn waits_for_person(&self) -> bool {
        let is_for_person = |key: &QuestionKey| matches!(key, QuestionKey::UserInput(_));
        !self.approvals.is_empty()
            || !self.grants.is_empty()
            || self.asked.keys().any(is_for_person)
    }

    /// No answer will come any more.
    pub(super) fn drop_turn(&mut self) {
        *self = Self::default();
    }
}

/// An effect that waits for approval.
#[derive(Debug)]
pub(super) struct PendingApproval {
    pub(super) request: ApprovalRequest,
    pub(super) reply: oneshot::Sender<Result<Permit, Denied>>,
}

/// A request for permissions that waits for an answer.
#[derive(Debug)]
pub(super) struct PendingGrant {
    pub(super) asked: RequestPermissionProfile,
    pub(super) settings: Arc<TurnSettings>,
    pub(super) reply: oneshot::Sender<RequestPermissionsResponse>,
}

/// Connections to one host and port that wait for an answer.
#[derive(Debug)]
pub(super) struct PendingConnection {
    /// The first of them.
    pub(super) connection: ConnectionRequest,
    pub(super) replies: Vec<oneshot::Sender<HostAnswer>>,
}
