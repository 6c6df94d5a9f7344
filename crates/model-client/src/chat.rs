//! The Chat Completions protocol, for servers without the Responses API. Requests and events are the same.
//!
//! The protocol has only functions. Tools with free text and the local shell are offered as functions, and their calls are
//! translated back; tools that the server would execute are omitted.

mod body;
mod decode;
mod messages;
mod tools;

pub(crate) use body::body;
pub(crate) use decode::ChatDecoder;
