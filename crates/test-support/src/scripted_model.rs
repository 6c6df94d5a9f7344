//! A model in memory with scripted replies.

use std::collections::VecDeque;

use async_trait::async_trait;
use codex_model_client::{
    ModelClient, ModelError, ModelEvent, ModelList, ModelRequest, ModelStream, Provider,
};
use codex_protocol::ResponseItem;
use futures::StreamExt;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::Latch;

/// What the model does with one request.
#[derive(Clone, Debug)]
pub enum Reply {
    Stream(Vec<Step>),
    Refuse(ModelError),
    /// Waits for a latch first.
    After(Latch, Box<Reply>),
}

/// A step of a streamed response.
#[derive(Clone, Debug)]
pub enum Step {
    Event(ModelEvent),
    /// Waits for a latch.
    Wait(Latch),
    /// The stream ends with an error.
    Fail(ModelError),
}

/// A model that replies to requests in order. A request without a scripted reply fails.
#[derive(Debug)]
pub struct ScriptedModel {
    provider: Provider,
    replies: Mutex<VecDeque<Reply>>,
    compactions: Mutex<VecDeque<Result<Vec<ResponseItem>, ModelError>>>,
    models: Mutex<ModelList>,
    requests: watch::Sender<Vec<ModelRequest>>,
}

impl ScriptedModel {
    /// Creates a model with these replies.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self {
            provider: Provider::new("Scripted", Some("http://scripted.invalid".to_owned())),
            replies: Mutex::new(replies.into_iter().collect()),
            compactions: Mutex::default(),
            models: Mutex::default(),
            requests: watch::Sender::new(Vec::new()),
        }
    }

    /// The same model under another provider.
    pub fn with_provider(mut self, provider: Provider) -> Self {
        self.provider = provider;
        self
    }

    pub fn push(&self, reply: Reply) {
        self.replies.lock().push_back(reply);
    }

    /// Sets the result of the next compaction.
    pub fn push_compaction(&self, outcome: Result<Vec<ResponseItem>, ModelError>) {
        self.compactions.lock().push_back(outcome);
    }

    /// Sets the list of models.
    pub fn set_models(&self, models: ModelList) {
        *self.models.lock() = models;
    }

    /// The requests so far, including compactions.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.borrow().clone()
    }

    /// Waits for request number `index`, from 0.
    pub async fn request(&self, index: usize) -> ModelRequest {
        let mut requests = self.requests.subscribe();
        loop {
            if let Some(request) = requests.borrow_and_update().get(index) {
                return request.clone();
            }
            // The sender exists, so the channel cannot be closed.
            let _ = requests.changed().await;
        }
    }

    fn record(&self, request: &ModelRequest) {
        self.requests
            .send_modify(|requests| requests.push(request.clone()));
    }
}

#[async_trait]
impl ModelClient for ScriptedModel {
    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let reply = self.replies.lock().pop_front();
        self.record(request);
        let mut reply = reply.ok_or_else(out_of_script)?;
        loop {
            match reply {
                Reply::Stream(steps) => return Ok(play(steps)),
                Reply::Refuse(error) => return Err(error),
                Reply::After(latch, then) => {
                    latch.pass().await;
                    reply = *then;
                }
            }
        }
    }

    async fn compact(&self, request: &ModelRequest) -> Result<Vec<ResponseItem>, ModelError> {
        let outcome = self.compactions.lock().pop_front();
        self.record(request);
        outcome.unwrap_or_else(|| Err(out_of_script()))
    }

    async fn models(&self) -> Result<ModelList, ModelError> {
        Ok(self.models.lock().clone())
    }

    fn provider(&self) -> &Provider {
        &self.provider
    }
}

fn out_of_script() -> ModelError {
    ModelError::Unsendable("the script has no reply left".to_owned())
}

fn play(steps: Vec<Step>) -> ModelStream {
    let events = futures::stream::iter(steps).filter_map(|step| async {
        match step {
            Step::Event(event) => Some(Ok(event)),
            Step::Fail(error) => Some(Err(error)),
            Step::Wait(latch) => {
                latch.pass().await;
                None
            }
        }
    });
    ModelStream::new(events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply;

    #[tokio::test]
    async fn the_script_is_played_and_requests_are_kept() {
        let latch = Latch::new();
        let mut steps = vec![Step::Wait(latch.clone())];
        steps.extend(reply::text("hi"));
        let model = ScriptedModel::new([Reply::Stream(steps)]);
        let mut stream = model.stream(&ModelRequest::default()).await.unwrap();
        tokio::join!(
            async {
                latch.reached().await;
                latch.open();
            },
            async { assert_eq!(stream.next().await, Some(Ok(ModelEvent::Created))) },
        );
        assert_eq!(stream.count().await, 4);
        let error = model.stream(&ModelRequest::default()).await.unwrap_err();
        assert_eq!(error, out_of_script());
        model.request(1).await;
        assert_eq!(model.requests().len(), 2);
    }
}
