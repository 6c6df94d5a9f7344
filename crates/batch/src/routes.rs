//! Brings the notifications of threads to the rows that they belong to, and answers questions: nobody is there to be asked.

use std::collections::HashMap;
use std::sync::Arc;

use codex_app_server_protocol::ServerNotification;
use codex_client::{ConnectionHandle, ServerMessage, ServerMessages, ServerQuestion, UserDecision};
use parking_lot::Mutex;
use tokio::sync::mpsc;

/// Where the notifications of each thread go. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes(Arc<Mutex<HashMap<String, mpsc::UnboundedSender<ServerNotification>>>>);

/// The notifications of a thread. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct ThreadRoute {
    routes: Routes,
    thread: String,
    events: mpsc::UnboundedReceiver<ServerNotification>,
}

impl Routes {
    /// The notifications of a thread from now on.
    pub(crate) fn open(&self, thread: &str) -> ThreadRoute {
        let (sender, events) = mpsc::unbounded_channel();
        self.0.lock().insert(thread.to_owned(), sender);
        ThreadRoute {
            routes: self.clone(),
            thread: thread.to_owned(),
            events,
        }
    }

    /// Serves the messages until the server goes away.
    pub(crate) async fn serve(self, connection: ConnectionHandle, mut messages: ServerMessages) {
        while let Ok(message) = messages.next().await {
            match message {
                ServerMessage::Notification(notification) => self.bring(*notification),
                ServerMessage::Request(id, request) => {
                    let answered = match ServerQuestion::from_request(&request) {
                        Some(question) => {
                            let answer = question.answer(UserDecision::Decline);
                            connection.answer(&id, &answer).await
                        }
                        None => connection.refuse(&id, request.method()).await,
                    };
                    if answered.is_err() {
                        break;
                    }
                }
                ServerMessage::Unknown(_) => {}
            }
        }
        // Rows that wait learn of it.
        self.0.lock().clear();
    }

    /// Of the many notifications a row needs two.
    fn bring(&self, notification: ServerNotification) {
        let is_needed = matches!(
            notification,
            ServerNotification::TurnCompleted(_) | ServerNotification::ThreadTokenUsageUpdated(_)
        );
        if is_needed && let Some(thread) = notification.thread_id() {
            let routes = self.0.lock();
            if let Some(route) = routes.get(thread) {
                let _ = route.send(notification);
            }
        }
    }
}

impl ThreadRoute {
    /// The next notification. None if the server has gone away.
    pub(crate) async fn next(&mut self) -> Option<ServerNotification> {
        self.events.recv().await
    }
}

impl Drop for ThreadRoute {
    fn drop(&mut self) {
        self.routes.0.lock().remove(&self.thread);
    }
}
