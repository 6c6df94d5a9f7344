//! The questions that wait for an answer of the client. Dropping an entry tells its tool that no answer will come.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use codex_exec::HostAnswer;
use codex_gate::{ApprovalRequest, Permit};
use codex_host_policy::Host;
use codex_protocol::{RequestPermissionProfile, RequestPermissionsResponse};
use codex_session_base::gate::{ConnectionRequest, Denied};
use codex_session_base::questions::{QuestionAnswer, QuestionKey};
use codex_session_base::turn_settings::TurnSettings;
use tokio::sync::oneshot;

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

    /// The question about a host and port that is open already, for another command.
    pub(super) fn connection_to(
        &mut self,
        host: &Host,
        port: u16,
    ) -> Option<&mut PendingConnection> {
        let is_it = |shown: &ConnectionRequest| shown.host == *host && shown.port == port;
        self.connections
            .values_mut()
            .find(|pending| is_it(&pending.shown.connection))
    }

    /// Waits until the command that a question shows does not wait for it any more, and takes the question.
    pub(super) async fn abandoned_connection(&mut self) -> (String, PendingConnection) {
        let id = poll_fn(|context| {
            let mut connections = self.connections.iter_mut();
            let abandoned = connections.find_map(|(id, pending)| {
                let closed = pending.shown.reply.poll_closed(context);
                closed.is_ready().then(|| id.clone())
            });
            abandoned.map_or(Poll::Pending, Poll::Ready)
        });
        let id = id.await;
        match self.connections.remove(&id) {
            Some(pending) => (id, pending),
            None => std::future::pending().await,
        }
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
    /// The one that the question shows.
    pub(super) shown: WaitingConnection,
    /// Those of other commands.
    pub(super) others: Vec<WaitingConnection>,
}

/// A connection of a command that waits.
#[derive(Debug)]
pub(super) struct WaitingConnection {
    pub(super) connection: ConnectionRequest,
    pub(super) reply: oneshot::Sender<HostAnswer>,
}
