//! The crate from outside: bundles shown, exported, redacted, compared.

#![expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]

mod diff;
mod export;
mod live;
mod redact;
mod support;
mod view;
