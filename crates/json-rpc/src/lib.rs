//! Layer: foundation. JSON-RPC 2.0 over a pair of streams, a message a line, for protocols that others define.
//!
//! It promises one reply per request, the order of what is written, and bounded memory: who writes to a peer that does
//! not read waits. It knows no method.

mod input;
mod message;
mod peer;

pub use input::{InputError, read_lines};
pub use message::{Error, Message, RequestId, Unreadable, params, read};
pub use peer::{Lines, Peer, Responder};
