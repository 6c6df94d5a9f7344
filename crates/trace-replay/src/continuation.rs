//! A turn after the replayed ones, with another model.

use std::sync::{Arc, OnceLock};

use codex_model_client::ModelClient;
use tokio::sync::Notify;

/// How to go on after the last replayed turn.
#[derive(Debug, Clone)]
pub struct Continuation {
    /// The message of the user.
    pub prompt: String,
    /// The model that answers.
    pub model: Arc<dyn ModelClient>,
}

/// How far the turn is.
#[derive(Debug, Default)]
pub(crate) struct ContinuedTurn {
    model: OnceLock<Arc<dyn ModelClient>>,
    answer: OnceLock<Option<String>>,
    ended: Notify,
}

impl ContinuedTurn {
    /// From now on, the other model answers.
    pub(crate) fn begin(&self, model: Arc<dyn ModelClient>) {
        let _ = self.model.set(model);
    }

    /// The other model, once it answers.
    pub(crate) fn model(&self) -> Option<&Arc<dyn ModelClient>> {
        self.model.get()
    }

    /// The turn has ended with this message.
    pub(crate) fn end(&self, answer: Option<String>) {
        let _ = self.answer.set(answer);
        self.ended.notify_one();
    }

    /// Waits for the end and returns the last message.
    pub(crate) async fn answer(&self) -> Option<String> {
        loop {
            if let Some(answer) = self.answer.get() {
                return answer.clone();
            }
            self.ended.notified().await;
        }
    }
}
