//! The crate from outside: bundles written, reduced, damaged.

#![expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]

mod convert;
mod damage;
mod lenient;
mod record;
mod reduce;
mod repeats;
mod session;
mod shards;
mod support;
