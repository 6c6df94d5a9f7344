//! Strict JSON over borrowed bytes, for payloads.
//!
//! Promises what serde_json promises about validity (the grammar, UTF-8, paired surrogates, 127 levels) and two
//! things it does not: numbers keep their digits, and a value can be skipped or read in place, so that the bytes
//! of one array element can be compared without building anything. It does not serialise into Rust types.

mod compact;
mod scanner;
mod value;

pub(crate) use compact::compact;
pub(crate) use scanner::{Scanner, SyntaxError};
pub(crate) use value::{Json, Object};
