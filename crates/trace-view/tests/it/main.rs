//! The crate from outside: bundles shown, exported, redacted, compared.

#![allow(clippy::unwrap_used)]

mod diff;
mod export;
mod live;
mod redact;
mod support;
mod view;
