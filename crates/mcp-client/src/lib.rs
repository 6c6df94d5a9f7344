//! Layer: capability. The MCP client: starts servers, logs in to them, sends requests and ends them.
//!
//! It knows neither threads nor turns, and reads neither configuration nor environment variables itself: both come
//! in as values. The only file that it writes contains logins. A server that runs as a program belongs to its
//! [`McpConnection`]: it ends with the connection, and with this process in any case.
//!
//! Code map: `config` (the configuration of a server), `connector` (starts servers), `connection` (requests and
//! their limits), `revision` and `routing` (what revisions of the protocol demand), `dispatcher` (incoming messages), `message` (JSON-RPC), `transport` with `stdio` and `http`,
//! `event_stream` (its streams of events), `oauth` (logins), `error`.

mod config;
mod connection;
mod connector;
mod dispatcher;
mod error;
mod event_stream;
mod http;
mod message;
mod oauth;
mod remote_stdio;
mod revision;
mod routing;
mod stdio;
mod transport;

pub use config::{
    McpRegisteredClient, McpServerConfig, McpServerTransport, ProgramElsewhere, ProgramGuard,
    ProgramRefused, ProgramStart, ProgramVariables,
};
pub use connection::{ListPage, McpConnection, McpServerFacts};
pub use connector::{McpConnector, RunningMcpServer};
pub use dispatcher::{CancelElicitations, ElicitationHandler, ElicitationReply};
pub use error::McpError;
pub use oauth::{
    McpAuthorization, McpLoginError, McpLoginOptions, McpLoginSettings, McpLoginStore, McpLogins,
    StartedMcpLogin,
};
