//! Layer: capability. Reports changes at watched paths.
//!
//! A watched file reports itself, a watched folder its direct children. The path need not exist: it
//! is reported when it appears, and again whenever it is replaced. Changes within 200 milliseconds
//! are reported together, each path once and in order.
//!
//! Linux only: elsewhere a watch is an error instead of one that never reports.
//!
//! Code map: `watcher` (one worker thread for all watches), `inotify` (what the kernel observes),
//! `target` (which folders to observe for a path, and which events concern it), `batch` (changes that
//! are reported together).

mod batch;
#[cfg(target_os = "linux")]
mod inotify;
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
