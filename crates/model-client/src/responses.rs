//! The Responses API: the body of a request, and the events of a response.

mod body;
mod decode;
mod failure;

pub(crate) use body::compact_body;
pub(crate) use body::stream_body;
pub(crate) use decode::ResponsesDecoder;
pub(crate) use failure::Failure;
