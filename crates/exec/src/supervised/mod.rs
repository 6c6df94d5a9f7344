//! Commands that a supervisor runs: their streams, and what the supervisor reports.

pub(crate) mod reports;
pub(crate) mod streams;
