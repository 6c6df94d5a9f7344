//! Layer: vocabulary. The v2 protocol: every JSON-RPC method with its params and response, the
//! experimental gates, and the exporters that describe them.
//!
//! Data only; the exporters return files as values, they write nothing.

pub mod export;
mod method_table;
mod methods;
mod notification_thread;
pub mod rpc;
pub mod v2;

pub use method_table::{
    Direction, MessageReadError, Method, NoParams, RequestMethod, TypeReference,
};
pub use methods::*;
