//! A model behind a provider: the model client and the catalogue.

use std::sync::Arc;

use codex_model_client::{
    ModelCatalog, ModelClient, ModelError, ModelEvent, ModelInfo, ModelRequest, ModelStore,
    ModelStream, ResolvedModel,
};
use codex_protocol::ResponseItem;
use futures::StreamExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::model::Model;

/// How many resolved models are kept, for threads to share.
const MAX_RESOLVED: usize = 16;

/// A provider and what is known about its models.
#[derive(Clone, Debug)]
pub struct ProviderModel {
    client: Arc<dyn ModelClient>,
    catalog: Arc<ModelCatalog>,
    list: Option<Arc<ModelStore>>,
    resolved: Arc<Mutex<Vec<ResolvedModel>>>,
}

impl ProviderModel {
    /// The models of a provider.
    #[must_use]
    pub fn new(client: Arc<dyn ModelClient>, catalog: Arc<ModelCatalog>) -> Self {
        Self {
            client,
            catalog,
            list: None,
            resolved: Arc::default(),
        }
    }

    /// Notifies this list of the versions that the provider mentions.
    #[must_use]
    pub fn notifying(mut self, list: Arc<ModelStore>) -> Self {
        self.list = Some(list);
        self
    }
}

impl Model for ProviderModel {
    fn resolve(&self, name: &str) -> ResolvedModel {
        let mut resolved = self.resolved.lock();
        if let Some(found) = resolved.iter().find(|found| found.info.slug == name) {
            return found.clone();
        }
        let found = self.catalog.resolve(name);
        if resolved.len() == MAX_RESOLVED {
            resolved.remove(0);
        }
        resolved.push(found.clone());
        found
    }

    fn learn_window(&self, name: &str, window: i64) {
        // Adds it to those that are kept.
        self.resolve(name);
        let mut resolved = self.resolved.lock();
        let found = resolved.iter_mut().find(|found| found.info.slug == name);
        if let Some(found) = found
            && found.info.context_window.is_none_or(|known| known > window)
        {
            Arc::make_mut(&mut found.info).context_window = Some(window);
        }
    }

    fn choices(&self) -> Vec<&ModelInfo> {
        self.catalog.presets(true)
    }

    fn stream(&self, request: ModelRequest) -> BoxFuture<'static, Result<ModelStream, ModelError>> {
        let client = Arc::clone(&self.client);
        let list = self.list.clone();
        Box::pin(async move {
            let stream = match client.stream(&request).await {
                Ok(stream) => stream,
                // The rate limits are an event, as in a response.
                Err(ModelError::UsageLimitReached(limit)) => {
                    let limits = Ok(ModelEvent::RateLimits(limit.rate_limits.clone()));
                    let error = Err(ModelError::UsageLimitReached(limit));
                    return Ok(ModelStream::new(futures::stream::iter([limits, error])));
                }
                Err(error) => return Err(error),
            };
            Ok(match list {
                Some(list) => ModelStream::new(stream.inspect(move |event| notify(&list, event))),
                None => stream,
            })
        })
    }

    fn prewarms(&self) -> bool {
        self.client.provider().supports_websockets
    }

    fn prewarm(&self, request: ModelRequest) -> Option<BoxFuture<'static, ()>> {
        self.client.prewarm(request)
    }

    /// Known by the name of the provider, as in other programs that use it.
    fn compacts(&self) -> bool {
        self.client.provider().name == "OpenAI"
    }

    fn compact(
        &self,
        request: ModelRequest,
    ) -> BoxFuture<'static, Result<Vec<ResponseItem>, ModelError>> {
        let client = Arc::clone(&self.client);
        Box::pin(async move { client.compact(&request).await })
    }
}

/// Notifies a list of its version. Runs in the background.
fn notify(list: &Arc<ModelStore>, event: &Result<ModelEvent, ModelError>) {
    if let Ok(ModelEvent::ModelsEtag(etag)) = event {
        let (list, etag) = (Arc::clone(list), etag.clone());
        tokio::spawn(async move { list.note_etag(&etag).await });
    }
}
