//! What the engine needs of a model, as a trait: a real server and a scripted one both give it.

use std::fmt;

use async_trait::async_trait;
use codex_protocol::ResponseItem;

use crate::catalog::ModelInfo;
use crate::error::ModelError;
use crate::request::ModelRequest;
use crate::stream::ModelStream;
use codex_protocol::Provider;

/// A model that can be asked. Dropping a future or a stream cancels what it stands for.
#[async_trait]
pub trait ModelClient: Send + Sync + fmt::Debug {
    /// Sends a request and opens the stream of its response.
    ///
    /// Repeating it when the stream fails is up to the caller: [`Provider::stream_retries`].
    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError>;

    /// Has the server compact the conversation of a request.
    async fn compact(&self, request: &ModelRequest) -> Result<Vec<ResponseItem>, ModelError>;

    /// The models that the server offers.
    async fn models(&self) -> Result<ModelList, ModelError>;

    /// Where the model is reached.
    fn provider(&self) -> &Provider;
}

/// The models that a server offers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelList {
    /// The models.
    pub models: Vec<ModelInfo>,
    /// The version of the list.
    pub etag: Option<String>,
}
