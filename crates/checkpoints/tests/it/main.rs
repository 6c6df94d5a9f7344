//! Turns that change files, and going back.
#![expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]

mod case_insensitive;
mod conflicts;
mod corpus;
mod killed;
mod limits;
mod shell_edits;
mod store;
mod work;
