//! Questions to the clients of a thread. All clients get the same id, and the first answer is used.

use codex_app_server_protocol::rpc::RequestId;
use codex_app_server_protocol::v2::{ServerRequestResolvedNotification, WarningNotification};
use codex_app_server_protocol::{ServerNotification, ServerRequest};
use codex_protocol::EventMsg;

use super::actor::{Actor, OpenQuestion};
use crate::connection::Connection;
use crate::projection::{self, QuestionContext};

impl Actor {
    /// Sends the question of an event, if it has one, to all subscribers.
    pub(super) fn ask(&mut self, now: i64, event: &EventMsg) {
        let settings = self.thread.settings();
        let asker = QuestionContext {
            thread: self.thread.id().as_str(),
            cwd: &settings.cwd,
            now,
        };
        let Some((question, request)) = projection::question(&asker, event) else {
            return;
        };
        let number = self.server.open_question(self.handle.clone());
        self.pending
            .insert(number, OpenQuestion { question, request });
        self.notify_status();
        for subscriber in self.subscribers.values() {
            self.ask_one(number, subscriber);
        }
    }

    fn ask_one(&self, number: i64, subscriber: &Connection) {
        if let Some(pending) = self.pending.get(&number) {
            subscriber.ask(&RequestId::Integer(number), &pending.request);
        }
    }

    /// Sends all open questions to a new subscriber.
    pub(super) fn ask_again(&self, subscriber: &Connection) {
        for number in self.pending.keys() {
            self.ask_one(*number, subscriber);
        }
    }

    pub(super) async fn answer(&mut self, number: i64, answer: Option<&str>) {
        let Some(pending) = self.pending.remove(&number) else {
            return;
        };
        self.notify_resolved(number, &pending);
        if answer.is_none() {
            self.note_refusal(&pending.request);
        }
        let (op, problem) = pending.question.answered(answer);
        if let Some(problem) = problem {
            let method = pending.request.method();
            let thread_id = Some(self.thread.id().to_string());
            let message = format!(
                "The answer to `{method}` cannot be read and counts as a refusal: {problem}"
            );
            self.notify(&ServerNotification::Warning(WarningNotification {
                message,
                thread_id,
            }));
        }
        let _ = self.thread.submit(op).await;
        self.notify_status();
    }

    /// The client replied with an error, so the item of the question fails.
    fn note_refusal(&mut self, request: &ServerRequest) {
        let (turn, item) = match request {
            ServerRequest::CommandExecutionRequestApproval(asked) => {
                (&asked.turn_id, &asked.item_id)
            }
            ServerRequest::FileChangeRequestApproval(asked) => (&asked.turn_id, &asked.item_id),
            _ => return,
        };
        self.fold.refused_with_error(turn, item);
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
            self.notify(&ServerNotification::ServerRequestResolved(resolved));
        }
    }
}
