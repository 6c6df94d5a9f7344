//! Questions to the clients of a thread. All clients get the same id, and the first answer of one that was asked is used.

use std::collections::BTreeSet;

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::rpc::RequestId;
use codex_app_server_protocol::v2::{ServerRequestResolvedNotification, WarningNotification};
use codex_projection::dialect::Dialect;
use codex_projection::{self, QuestionContext};
use codex_protocol::EventMsg;

use super::actor::{Actor, OpenQuestion};
use crate::connection::{Connection, ConnectionId};

impl OpenQuestion {
    fn ask(&mut self, number: i64, subscriber: &Connection, dialect: Dialect) {
        self.asked.insert(subscriber.id());
        subscriber.ask(&RequestId::Integer(number), &self.request, dialect);
    }
}

impl Actor {
    /// Sends the question of an event, if it has one, to all subscribers.
    pub(super) fn ask(&mut self, now: i64, event: &EventMsg) {
        let settings = self.thread.settings();
        let asker = QuestionContext {
            thread: self.thread.id().as_str(),
            cwd: &settings.cwd,
            now,
        };
        let Some((question, request)) = codex_projection::question(&asker, event) else {
            return;
        };
        let number = self.server.open_question(self.handle.clone());
        let pending = OpenQuestion {
            question,
            request,
            asked: BTreeSet::new(),
        };
        self.pending.insert(number, pending);
        self.notify_status();
        if let Some(pending) = self.pending.get_mut(&number) {
            for subscriber in self.subscribers.values() {
                pending.ask(number, &subscriber.connection, subscriber.dialect_in_turn);
            }
        }
    }

    /// Sends all open questions to a new subscriber.
    pub(super) fn ask_again(&mut self, subscriber: &Connection) {
        let dialect = self.subscribers.dialect_in_turn(subscriber);
        for (number, pending) in &mut self.pending {
            pending.ask(*number, subscriber, dialect);
        }
    }

    /// The answer of a client. One that was not asked decides nothing.
    pub(crate) async fn answer(&mut self, from: ConnectionId, number: i64, answer: Option<String>) {
        let is_asked = |pending: &OpenQuestion| pending.asked.contains(&from);
        if !self.pending.get(&number).is_some_and(is_asked) {
            return tracing::warn!(number, from, "an answer of a client that was not asked");
        }
        let Some(pending) = self.pending.remove(&number) else {
            return;
        };
        self.server.close_question(number);
        self.notify_resolved(number, &pending);
        let (op, problem) = pending.question.answered(answer.as_deref());
        if let Some(problem) = problem {
            let method = pending.request.method();
            let thread_id = Some(self.thread.id().to_string());
            let message = format!(
                "The answer to `{method}` cannot be read and counts as a refusal: {problem}"
            );
            self.notify(ServerNotification::Warning(WarningNotification {
                message,
                thread_id,
            }));
        }
        let _ = self.thread.submit(op).await;
        self.notify_status();
    }

    /// What a question for approval was about has ended.
    pub(super) fn withdraw_question(&mut self, approval: &str) {
        let mut pending = self.pending.iter();
        let Some((number, _)) = pending.find(|(_, pending)| pending.question.is_for(approval))
        else {
            return;
        };
        let number = *number;
        if let Some(pending) = self.pending.remove(&number) {
            self.server.close_question(number);
            self.notify_resolved(number, &pending);
            self.notify_status();
        }
    }

    /// The turn has ended: closes its questions.
    pub(super) fn settle_questions(&mut self) {
        for (number, pending) in std::mem::take(&mut self.pending) {
            self.server.close_question(number);
            self.notify_resolved(number, &pending);
        }
    }

    fn notify_resolved(&self, number: i64, pending: &OpenQuestion) {
        if pending.question.is_announced() {
            let resolved = ServerRequestResolvedNotification {
                thread_id: self.thread.id().to_string(),
                request_id: RequestId::Integer(number),
            };
            self.notify(ServerNotification::ServerRequestResolved(resolved));
        }
    }
}
