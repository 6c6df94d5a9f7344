//! The process that runs cells. It reads lines of the engine, forks a child for each cell, and passes lines on.
//!
//! It has one thread, so that it can fork at any time.

mod cell;
mod confine;
mod engine;
mod relay;

use std::mem::ManuallyDrop;

use self::confine::CellFilter;
use self::engine::Engine;
use self::relay::Relay;

/// Runs until the engine closes the input. Returns the exit status.
pub(crate) fn run() -> i32 {
    let (Ok(engine), Some(filter)) = (Engine::new(), CellFilter::new()) else {
        return 1;
    };
    confine::limit_resources();
    // The engine is not taken apart, as the process ends.
    let mut relay = ManuallyDrop::new(Relay::new(engine, filter));
    match relay.run() {
        Ok(()) => 0,
        Err(_) => 1,
    }
}
