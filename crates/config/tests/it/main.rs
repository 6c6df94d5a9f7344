//! Loading, showing and editing configuration on disk.

#![expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]

mod effective;
mod environment;
mod errors;
mod layers;
mod view;
