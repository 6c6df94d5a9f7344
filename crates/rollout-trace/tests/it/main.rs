//! The crate from outside: bundles written, reduced, damaged.

#![allow(clippy::unwrap_used)]

mod convert;
mod damage;
mod lenient;
mod record;
mod reduce;
mod repeats;
mod session;
mod shards;
mod support;
