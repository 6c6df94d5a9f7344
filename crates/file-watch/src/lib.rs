//! Layer: capability. Reports changes at watched paths.
//!
//! A watched file reports itself, a watched folder its direct children. The path need not exist: it
//! is reported when it appears, and again whenever it is replaced. Changes within 200 milliseconds
//! are reported together, each path once and in order.
//!
//! Code map: `watcher` (one worker thread for all watches), `target` (which folders to observe for a
//! path, and which events concern it), `batch` (changes that are reported together).

mod batch;
mod target;
mod watcher;

pub use watcher::{Watch, Watcher};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
