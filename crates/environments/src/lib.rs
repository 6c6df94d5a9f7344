//! Layer: capability. Environments on other machines: the connections to their exec servers.
//!
//! An exec server speaks JSON-RPC over a websocket, in the form of release 0.169. [`Environments`] knows the servers that
//! clients have registered and keeps a connection to each. It knows no threads.
//!
//! Code map. `registry` knows the servers by id, `session` keeps the connection to one, `connect` opens it.

mod connect;
mod messages;
mod registry;
mod session;

pub use messages::{EnvironmentInfo, Shell};
pub use registry::{AddError, Environments, InfoError, MAX_ENVIRONMENTS};
pub use session::EnvironmentState;

pub use connect::ExecServer;
