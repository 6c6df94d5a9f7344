//! Chat Completions: the same requests and the same events, for servers that speak nothing else.
//!
//! The protocol knows functions only. Tools that take free text and the local shell are offered as
//! functions and their calls translated back; tools that the server would have to carry out are left
//! out.

mod body;
mod decode;
mod messages;
mod tools;

pub(crate) use body::body;
pub(crate) use decode::ChatDecoder;
