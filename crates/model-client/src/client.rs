//! The interface of a model for the engine. Implemented for real servers and for the scripted model.

use std::fmt;

use async_trait::async_trait;
use codex_protocol::Provider;
use codex_protocol::ResponseItem;
use futures::future::BoxFuture;

use crate::catalog::ModelInfo;
use crate::error::ModelError;
use crate::request::ModelRequest;
use crate::stream::ModelStream;

/// A model. Dropping a future or stream cancels the request.
#[async_trait]
pub trait ModelClient: Send + Sync + fmt::Debug {
    /// Sends a request and opens the response stream.
    ///
    /// The caller retries if the stream fails.
    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError>;

    /// Lets the server compact the history of a request.
    async fn compact(&self, request: &ModelRequest) -> Result<Vec<ResponseItem>, ModelError>;

    /// The models that the server offers.
    async fn models(&self) -> Result<ModelList, ModelError>;

    /// Prepares the connection of a thread for its first request; none if the provider has no such connection. Requests
    /// of the thread wait until the returned future is done or dropped.
    fn prewarm(&self, _request: ModelRequest) -> Option<BoxFuture<'static, ()>> {
        None
    }

    fn provider(&self) -> &Provider;
}

/// The models that a server offers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelList {
    pub models: Vec<ModelInfo>,
    /// The version of the list.
    pub etag: Option<String>,
}
