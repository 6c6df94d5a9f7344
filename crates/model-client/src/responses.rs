//! The Responses API: request bodies and event decoding.

mod body;
mod decode;
mod failure;
mod socket_frames;

pub(crate) use body::{StreamFields, write_input};
pub use body::{compact_body, stream_body};
pub(crate) use decode::ResponsesDecoder;
pub(crate) use failure::ResponseFailure;
pub(crate) use socket_frames::SocketFrames;
