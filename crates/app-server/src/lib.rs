//! Layer: surface. Threads, turns and items over JSON-RPC: transports, router, handlers and the
//! projection of engine events onto the wire.
//!
//! It owns the wire: one reply per request, one end per turn and item. It runs nothing itself; every
//! effect is asked of the engine.
//!
//! Code map. The crate `transport` makes messages of bytes, and the other way. Here are two parts that do not know what
//! stands above them: `projection` (pure: events to items, turns and
//! notifications), and what acts: `thread` (the actor behind each loaded thread) and `handlers` (a file for each
//! family of methods, and the table that names the handler of each). They meet in `router` (messages to
//! requests), `connection` and `clients` (who is connected), `server` (what all connections share) and `serve`.
//! `dialect` is how the protocol is spoken with clients of each release.
//! `configuration` holds the settings of the server itself, `host` what the program around it provides.

mod background_notifier;
mod blocking;
mod cancellable;
mod client_hooks;
mod client_tokens;
mod clients;
mod configuration;
mod connection;
mod dialect;
mod encoded_forms;
mod failure;
mod first_turns;
mod gap;
mod goal_tools;
mod handlers;
mod host;
mod open_requests;
mod ordering;
mod plain_reason;
mod projection;
mod request_path;
mod router;
mod run_output;
mod runs;
mod searches;
mod serve;
mod server;
mod thread;
mod watches;

pub use codex_transport::{
    Auth, AuthError, ByteStream, InMemory, Listen, Listener, MESSAGE_LIMIT, OwnerListener, Secret,
    SignedTokens, UncheckedClient, serve_in_memory, serve_stdio,
};
pub use configuration::Configuration;
pub use host::{
    AppsAccess, ClientName, FeedbackSettings, Host, HostError, Identity, McpSettings,
    PreparedThread, RequestedSettings,
};
pub use projection::queued_by_others;
pub use server::AppServer;
