//! Strict JSON over borrowed bytes, for payloads.
//!
//! Promises what serde_json promises about validity (the grammar, UTF-8, paired surrogates, 127 levels) and three
//! things it does not: numbers keep their digits, a value can be skipped or read in place, so that the bytes
//! of one array element can be compared without building anything, and a string knows its place in the text. It does not
//! serialise into Rust types.

mod compact;
mod escapes;
mod scanner;
mod string;
mod value;

pub(crate) use compact::compact;
pub(crate) use escapes::{Escapes, decode, escaped};
pub(crate) use scanner::{Scanner, SyntaxError};
pub(crate) use string::JsonString;
pub(crate) use value::{Json, Object};
