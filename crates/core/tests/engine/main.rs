//! Whole turns through the queue pair, with a scripted model and a clock that does not wait.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed expectation is the failed test"
)]

mod support;

mod agents;
mod calls;
mod compact;
mod interrupt;
mod retry;
mod review;
mod stages;
mod steer;
mod stored;
mod text;
mod tools;
