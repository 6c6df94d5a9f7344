//! Layer: foundation. JSON-RPC 2.0 over a pair of streams, one message per line, for protocols that others define.
//!
//! It guarantees one reply per request, the order of what is written, and bounded memory: senders wait for a peer that
//! does not read, and no further messages are read from it meanwhile. It knows no method.
//!
//! Code map. `message` reads and writes single messages, `input` reads lines, `output` queues and writes them, `peer`
//! matches requests with replies in both directions.

mod error;
mod input;
mod message;
mod output;
mod peer;

pub use error::Error;
pub use input::LINE_LIMIT;
pub use message::{JsonRpcId, params};
pub use output::{LineQueue, LineSender, line_queue};
pub use peer::{Cancellation, Incoming, Peer, Responder};
