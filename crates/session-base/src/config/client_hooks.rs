//! Hooks that connected clients answer.

use std::fmt::Debug;
use std::time::Duration;

use codex_hooks::{Matcher, OnError};
use codex_protocol::HookEventName;
use futures::future::BoxFuture;
use serde_json::Value;

/// A hook that a client has registered.
#[derive(Clone, Debug)]
pub struct ClientHook {
    /// The id of the registration.
    pub id: String,
    /// The name of the client.
    pub client: String,
    /// Restricts the occasions.
    pub matcher: Matcher,
    /// How long to wait for the answer.
    pub timeout: Duration,
    /// The effect of no answer, or one that cannot be interpreted.
    pub on_error: OnError,
    /// What clients show while the answer is awaited.
    pub status_message: Option<String>,
}

/// A call of a hook of a client.
#[derive(Clone, Debug)]
pub struct ClientHookCall {
    /// The id of the registration.
    pub hook: String,
    /// The thread.
    pub thread: String,
    /// The turn, if there is one.
    pub turn: Option<String>,
    /// The event.
    pub event: HookEventName,
    /// The input, as for a command.
    pub input: Value,
}

/// Why a client has not answered, for its users.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ClientHookError(pub String);

/// The hooks of clients. Clients come and go while a thread is loaded.
pub trait ClientHooks: Debug + Send + Sync {
    /// Whether a client has registered a hook for an event of a thread. Must be cheap.
    fn has_hooks(&self, thread: &str, event: HookEventName) -> bool;

    /// The hooks for an event of a thread, in the order of their registration.
    fn hooks(&self, thread: &str, event: HookEventName) -> Vec<ClientHook>;

    /// Asks the client. The answer is what a command would print; an error says why there is none.
    fn call(&self, call: ClientHookCall) -> BoxFuture<'static, Result<Value, ClientHookError>>;
}
