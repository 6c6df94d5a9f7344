//! Tests of the v2 vocabulary as its users see it: messages as text, and the generated descriptions.

#![expect(clippy::unwrap_used, reason = "a test may panic and speak")]

mod checked_in;
mod experimental;
mod messages;
mod properties;
mod read_errors;
mod sample;
mod schemas;
mod transcript;
