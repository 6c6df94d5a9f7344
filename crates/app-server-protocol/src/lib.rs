//! Layer: vocabulary. The v2 protocol: every JSON-RPC method with its params and response, the
//! experimental gates, and the exporters that describe them.
//!
//! Data only; the exporters return files as values, they write nothing.

#![expect(
    clippy::large_enum_variant,
    reason = "a message is moved once: from the reader to its handler, or from whoever answers to the writer"
)]

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
