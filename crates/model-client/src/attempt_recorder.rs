//! Reports a response to the observer of its attempt.

use std::sync::Arc;

use codex_protocol::ResponseItem;

use crate::error::ModelError;
use crate::event::{Completion, ModelEvent};
use crate::request::AttemptObserver;

/// Reports the items of one response and exactly one end to an observer.
#[derive(Debug)]
pub(crate) struct AttemptRecorder {
    observer: Arc<dyn AttemptObserver>,
    request_id: Option<String>,
    ended: bool,
}

impl AttemptRecorder {
    pub(crate) fn new(observer: Arc<dyn AttemptObserver>, request_id: Option<String>) -> Self {
        Self {
            observer,
            request_id,
            ended: false,
        }
    }

    /// Reports the next event of the stream.
    pub(crate) fn record(&mut self, event: &Result<ModelEvent, ModelError>) {
        match event {
            Ok(ModelEvent::ItemDone(item)) => self.item(item),
            Ok(ModelEvent::Completed(completion)) => self.complete(completion),
            Ok(_) => {}
            Err(error) => self.fail(error),
        }
    }

    pub(crate) fn item(&self, item: &ResponseItem) {
        self.observer.item(item);
    }

    pub(crate) fn complete(&mut self, completion: &Completion) {
        self.ended = true;
        self.observer
            .completed(self.request_id.as_deref(), completion);
    }

    pub(crate) fn fail(&mut self, error: &ModelError) {
        self.ended = true;
        self.observer.failed(self.request_id.as_deref(), error);
    }
}

impl Drop for AttemptRecorder {
    fn drop(&mut self) {
        if !self.ended {
            self.observer.dropped(self.request_id.as_deref());
        }
    }
}
