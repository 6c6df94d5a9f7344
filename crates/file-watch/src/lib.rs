//! Layer: capability. Reports changes at watched paths.
//!
//! A watched file reports itself, a watched folder its direct children. The path need not exist: it
//! is reported when it appears, and again whenever it is replaced. Changes within 200 milliseconds
//! are reported together, each path once and in order.
//!
//! Code map: `watcher` (one worker thread for all watches), `inotify` and `notify_observer` (what the system observes, on
//! Linux and elsewhere), `observed` (events), `target` (which folders to observe for a path, and which events concern it),
//! `batch` (changes that are reported together).

mod batch;
#[cfg(target_os = "linux")]
mod inotify;
#[cfg(not(target_os = "linux"))]
mod notify_observer;
mod observed;
mod target;
mod watcher;

#[cfg(target_os = "linux")]
use inotify as platform;
#[cfg(not(target_os = "linux"))]
use notify_observer as platform;

pub use watcher::{Watch, Watcher};

#[cfg(test)]
mod tests;
