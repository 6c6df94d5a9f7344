//! Layer: foundation. HTTP for all parts of the program.
//!
//! [`HttpPool`] holds the connections of a process, with its proxies, certificates and redirect policy.
//! [`SentSecrets`] and [`error_text`] keep secrets out of errors. [`SseParser`] parses server-sent events. [`fetch()`]
//! reads a reply with limits on time and size, [`SharedLogin`] renews what a request is sent with,
//! [`form()`] and [`parameters`] encode and decode fields. [`serve_http`]
//! is the HTTP server. [`WebSocket`] is a message connection, for clients and servers. [`PkceSecrets`] and [`CallbackSite`] are for logins with a browser.
//!
//! It knows no model, no MCP server and no account.

pub use hyper::StatusCode;

mod callback;
mod environment;
mod fetch;
mod form;
mod live_login;
mod pkce;
mod pool;
mod redirect;
mod sent_secrets;
mod server;
mod sse;
mod websocket;

pub use callback::{CallbackReply, CallbackSite, EndSender, listen, serve};
pub use environment::{Environment, non_blank};
pub use fetch::{BoundedReply, FetchError, fetch};
pub use form::{form, parameters};
pub use live_login::{LiveLogin, SharedLogin};
pub use pkce::{NoRandomNumbers, PkceSecrets};
pub use pool::{
    HttpPool, HttpSettings, HttpSetupError, PostError, ProxySettings, error_text, remove_secrets,
    without_secrets,
};
pub use redirect::refused as refused_redirect;
pub use sent_secrets::SentSecrets;
pub use server::{HttpRequest, ServerOptions, serve_http, serve_http_until_upgrade};
pub use sse::{SseError, SseLimits, SseParser};
pub use websocket::{
    HandshakeKey, SocketError, SocketMessage, SocketText, WebSocket, accept_handshake,
};
