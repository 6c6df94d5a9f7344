//! Patches against real folders.

// The helpers here are as much part of the tests as the functions that call them.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed expectation is the failed test"
)]

mod edge_cases;
mod plan;
mod properties;
mod support;
mod turn_diff;
