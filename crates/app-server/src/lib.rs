//! Layer: surface. Threads, turns and items over JSON-RPC: router, handlers and the actor behind each loaded thread.
//!
//! It owns the wire: one reply per request, one end per turn and item. It runs nothing itself; every
//! effect is asked of the engine.
//!
//! Code map. The crate `transport` makes messages of bytes, and the other way; the crate `projection` makes items, turns
//! and notifications of events. Here is what acts: `thread` (the actor behind each loaded thread) and `handlers` (a file
//! for each family of methods, and the table that names the handler of each). They meet in `router` (messages to
//! requests), `connection` and `clients` (who is connected), `server` (what all connections share) and `serve`.
//! `configuration` holds the settings of the server itself, `host` what the program around it provides.

mod background_notifier;
mod blocking;
mod cancellable;
mod client_hooks;
mod client_tokens;
mod clients;
mod configuration;
mod connection;
mod encoded_forms;
mod failure;
mod first_turns;
mod goal_tools;
mod handlers;
mod host;
mod open_requests;
mod ordering;
mod plain_reason;
mod request_path;
mod router;
mod run_output;
mod runs;
mod searches;
mod serve;
mod server;
mod thread;
mod watches;

pub use codex_projection::queued_by_others;
pub use codex_transport::{
    Auth, AuthError, ByteStream, InMemory, Listen, Listener, MESSAGE_LIMIT, OwnerListener, Secret,
    SignedTokens, UncheckedClient, serve_in_memory, serve_stdio,
};
pub use configuration::Configuration;
pub use host::{
    AppsAccess, ClientName, Extensions, FeedbackSettings, FeedbackSupport, Host, HostError,
    Identity, McpSettings, PreparedThread, RequestedSettings, StartupSettings, Stores,
    ThreadEngines, UserPlaces,
};
pub use server::AppServer;
