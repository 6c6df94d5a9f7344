//! Layer: surface. Threads, turns and items over JSON-RPC: transports, router, handlers and the
//! projection of engine events onto the wire.
//!
//! It owns the wire: one reply per request, one end per turn and item. It runs nothing itself; every
//! effect is asked of the engine.
//!
//! Code map: `lines` and `stdio` (bytes to lines), `router` (lines to requests), `handlers` (a file a
//! family), `thread` (the actor behind each loaded thread), `projection` (events to items and turns),
//! `connection` and `outbox` (the way back), `host` (what the program around provides).

mod base64_line;
mod connection;
mod failure;
mod handlers;
mod host;
mod in_memory;
mod lines;
mod outbox;
mod projection;
mod router;
mod run_output;
mod runs;
mod searches;
mod server;
mod stdio;
mod thread;
mod voice;
mod watches;

pub use host::{ClientName, FeedbackSettings, Host, Identity, Prepared, Sending, ThreadSettings};
pub use in_memory::{InMemory, serve_in_memory};
pub use server::Server;
pub use stdio::serve_stdio;
