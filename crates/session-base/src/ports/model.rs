//! The model as the engine uses it.

use std::fmt::Debug;

use codex_model_client::{ModelError, ModelInfo, ModelRequest, ModelStream, ResolvedModel};
use codex_protocol::ResponseItem;
use futures::future::BoxFuture;

/// A provider of models.
pub trait Model: Debug + Send + Sync {
    /// What is known about a model. Returns something usable for any name.
    fn resolve(&self, name: &str) -> ResolvedModel;

    /// A server has said that the window of a model is no longer than this. Later turns go by it.
    fn learn_window(&self, _name: &str, _window: i64) {}

    /// The models to choose from; empty if they are not known.
    fn choices(&self) -> Vec<&ModelInfo> {
        Vec::new()
    }

    /// Sends a request and opens the stream of its response. Dropping either cancels the request.
    fn stream(&self, request: ModelRequest) -> BoxFuture<'static, Result<ModelStream, ModelError>>;

    /// Whether the provider can [prepare](Model::prewarm) for requests.
    fn prewarms(&self) -> bool {
        false
    }

    /// Prepares the connection of a thread for requests like this one. Requests of the thread wait until the future is
    /// done or dropped.
    fn prewarm(&self, _request: ModelRequest) -> Option<BoxFuture<'static, ()>> {
        None
    }

    /// Whether the provider can compact a conversation itself.
    fn compacts(&self) -> bool {
        false
    }

    /// Has the provider compact the conversation of a request. Called only if it [can](Model::compacts).
    fn compact(
        &self,
        _request: ModelRequest,
    ) -> BoxFuture<'static, Result<Vec<ResponseItem>, ModelError>> {
        let error = ModelError::Unsendable("the provider cannot compact".to_owned());
        Box::pin(std::future::ready(Err(error)))
    }
}
