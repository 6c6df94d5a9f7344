//! Layer: capability. Tells what changes at a path.
//!
//! A watched file reports itself, a watched folder its direct children. The path need not exist: it
//! reports itself when it appears, and again whenever it is replaced. What changes within a fifth of
//! a second is told at once, each path once and in order.
//!
//! It works on Linux; elsewhere there is an error instead of a watch that never tells anything.
//!
//! Code map: `watcher` (one thread, all watches), `target` (which folders of the system's have to be
//! observed for a path), `burst` (changes that are told together).

mod burst;
#[cfg(target_os = "linux")]
mod target;
#[cfg(target_os = "linux")]
mod watcher;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported.rs"]
mod watcher;

pub use watcher::{Watch, Watcher};

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests;
