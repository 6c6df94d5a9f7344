//! Requests of a connection that can be cancelled by their id.

use std::collections::HashMap;
use std::sync::Arc;

use codex_app_server_protocol::rpc::RequestId;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

type Tokens = Arc<Mutex<HashMap<RequestId, CancellationToken>>>;

/// The requests that are being carried out.
#[derive(Debug, Default)]
pub(crate) struct CancellableRequests(Tokens);

/// One of them. Dropping it ends its registration.
#[derive(Debug)]
pub(crate) struct CancellableRequest {
    id: RequestId,
    token: CancellationToken,
    registry: Tokens,
}

impl CancellableRequests {
    pub(crate) fn register(&self, id: &RequestId) -> CancellableRequest {
        let token = CancellationToken::new();
        self.0.lock().insert(id.clone(), token.clone());
        CancellableRequest {
            id: id.clone(),
            token,
            registry: Arc::clone(&self.0),
        }
    }

    /// The token of a request that is registered.
    pub(crate) fn token(&self, id: &RequestId) -> Option<CancellationToken> {
        self.0.lock().get(id).cloned()
    }

    /// Cancels a request. Does nothing if none with this id is registered.
    pub(crate) fn cancel(&self, id: &RequestId) {
        if let Some(token) = self.0.lock().get(id) {
            token.cancel();
        }
    }

    /// Cancels all of them.
    pub(crate) fn cancel_all(&self) {
        self.0.lock().values().for_each(CancellationToken::cancel);
    }
}

impl CancellableRequest {
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }
}

impl Drop for CancellableRequest {
    fn drop(&mut self) {
        self.registry.lock().remove(&self.id);
    }
}
