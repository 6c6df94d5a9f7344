//! Showing a response to whoever watches the attempt that it answers.

use std::sync::Arc;

use codex_protocol::ResponseItem;

use crate::error::ModelError;
use crate::event::Completion;
use crate::event::ModelEvent;
use crate::request::AttemptObserver;

/// The response of one attempt as its observer sees it: items, and then one end, whatever happens.
#[derive(Debug)]
pub(crate) struct Watch {
    observer: Arc<dyn AttemptObserver>,
    request_id: Option<String>,
    ended: bool,
}

impl Watch {
    pub(crate) fn new(observer: Arc<dyn AttemptObserver>, request_id: Option<String>) -> Self {
        Self {
            observer,
            request_id,
            ended: false,
        }
    }

    /// What came next in the stream.
    pub(crate) fn see(&mut self, event: &Result<ModelEvent, ModelError>) {
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

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.ended {
            self.observer.dropped(self.request_id.as_deref());
        }
    }
}
