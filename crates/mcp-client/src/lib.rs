//! Layer: capability. MCP servers: starting them, talking to them, and their end.
//!
//! It knows neither threads nor turns, reads no configuration and no environment variable by itself:
//! all that comes in as values. The one file that it writes keeps logins. A server that runs as a program belongs to its [`Connection`]: it
//! ends with it, and with this process, however that ends.
//!
//! Code map: `server` (what is configured), `connector` (from that to a connection), `connection`
//! (requests and their limits), `inbox` (what comes in), `message` (its form), `transport`, `stdio`
//! and `http` (the ways there), `oauth` (logins), `error`.

mod connection;
mod connector;
mod error;
mod http;
mod inbox;
mod message;
mod oauth;
mod server;
mod stdio;
mod transport;

pub use connection::{Connection, Page};
pub use connector::{Connector, Running};
pub use error::McpError;
pub use inbox::{ElicitationReply, NoQuestions, Questions};
pub use oauth::{
    Authorization, LoginError, LoginOptions, LoginSettings, LoginStore, Logins, StartedLogin,
};
pub use server::{Server, Way};
