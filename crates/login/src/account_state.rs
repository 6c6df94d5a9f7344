//! What the login of a process keeps besides the login itself.

use std::time::Instant;

use codex_model_client::Secret;
use tokio::sync::oneshot;

/// A login that waits for a browser. Dropping it ends the login.
#[derive(Debug)]
pub(crate) struct PendingLogin {
    pub(crate) id: String,
    pub(crate) cancel: Option<oneshot::Sender<()>>,
    /// Resolves once the port is free again.
    pub(crate) released: oneshot::Receiver<()>,
}

/// The last requirements of an account that the backend sent.
#[derive(Clone, Debug)]
pub(crate) struct CachedRequirements {
    pub(crate) account: String,
    pub(crate) at: Instant,
    pub(crate) text: Option<String>,
}

/// A login that was removed.
#[derive(Debug)]
pub struct LoggedOut {
    /// Whether there was a login.
    pub was_logged_in: bool,
    /// The token that the identity server still accepts.
    pub(crate) refresh_token: Option<Secret>,
}
