//! The state of a process's login beside the login itself.

use std::time::Instant;

use codex_model_client::Secret;
use tokio::sync::oneshot;

/// A login that waits for the user. Dropping it cancels the login.
#[derive(Debug)]
pub(crate) struct PendingLogin {
    pub(crate) id: String,
    pub(crate) cancel: Option<oneshot::Sender<()>>,
    /// Resolves once the callback port is free again.
    pub(crate) released: oneshot::Receiver<()>,
}

/// The administrator's requirements of an account, as last received from the backend.
#[derive(Clone, Debug)]
pub(crate) struct CachedRequirements {
    pub(crate) account: String,
    pub(crate) at: Instant,
    pub(crate) text: Option<String>,
}

/// The result of logging out.
#[derive(Debug)]
pub struct LoggedOut {
    /// Whether there was a login.
    pub was_logged_in: bool,
    /// The refresh token that the identity server still accepts.
    pub(crate) refresh_token: Option<Secret>,
}
