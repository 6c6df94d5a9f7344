//! Patches against real folders.

// The helpers here are as much part of the tests as the functions that call them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod edge_cases;
mod plan;
mod properties;
mod support;
mod turn_diff;
