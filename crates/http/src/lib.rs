//! Layer: foundation. What the parts of the program that use HTTP have in common.
//!
//! [`HttpPool`] holds the connections of a process, with its proxies, its certificates and the one policy of
//! redirects. [`SentSecrets`] and [`error_text`] keep secrets out of errors. [`SseParser`] reads
//! server-sent events. [`fetch`] reads a reply that is bounded in time and size, [`form`] and [`parameters`] write
//! and read fields. [`serve_http`] is the one HTTP server. [`PkceSecrets`] and [`CallbackSite`] are what a login with a browser
//! needs on this side.
//!
//! It knows no model, no MCP server and no account.

mod callback;
mod environment;
mod fetch;
mod form;
mod pkce;
mod pool;
mod redirect;
mod sent_secrets;
mod server;
mod sse;

pub use callback::{CallbackReply, CallbackSite, EndSender, listen, serve};
pub use environment::{Environment, non_blank};
pub use fetch::{BoundedReply, FetchError, fetch};
pub use form::{form, parameters};
pub use pkce::{NoRandomNumbers, PkceSecrets};
pub use pool::{
    HttpPool, HttpSettings, HttpSetupError, PostError, ProxySettings, error_text, remove_secrets,
};
pub use redirect::refused as refused_redirect;
pub use sent_secrets::SentSecrets;
pub use server::{HttpRequest, ServerOptions, serve_http, serve_http_until_upgrade};
pub use sse::{SseError, SseLimits, SseParser};
