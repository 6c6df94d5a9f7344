//! Layer: surface. Threads, turns and items over JSON-RPC: transports, router, handlers and the
//! projection of engine events onto the wire.
//!
//! It owns the wire: one reply per request, one end per turn and item. It runs nothing itself; every
//! effect is asked of the engine.
//!
//! Code map: `transport` (bytes to messages), `router` (messages to requests), `handlers` (a file a
//! family), `thread` (the actor behind each loaded thread), `projection` (events to items and turns),
//! `connection` and `outbox` (the way back), `configuration` (the settings of the server itself), `host` (what the program around provides).

mod configuration;
mod connection;
mod failure;
mod gap;
mod handlers;
mod host;
mod message;
mod outbox;
mod projection;
mod questions;
mod router;
mod run_output;
mod runs;
mod searches;
mod server;
mod thread;
mod transport;
mod voice;
mod watches;

pub use configuration::Configuration;
pub use host::{
    ClientName, FeedbackSettings, Host, Identity, McpSettings, Prepared, Sending, ThreadSettings,
};
pub use server::Server;
pub use transport::{
    Auth, AuthError, InMemory, Listen, Listener, MESSAGE_LIMIT, Secret, SignedTokens,
    serve_in_memory, serve_stdio,
};
