//! Layer: capability. Child processes: spawning, terminals, output caps, killing a whole tree.
//!
//! It owns every process that runs on behalf of somebody: dropping the [`Process`] kills the tree,
//! and so does the death of this process, however it dies.
//!
//! How: between us and every command stands a small supervisor, forked from a steward, which is our
//! own binary started again under another name ([`run_helper_if_asked`]). A supervisor holds the
//! other end of a socket; when the socket closes it kills everything that descends from it. If the
//! launch plan says so, it also confines the command (crate `codex-sandbox`).
//!
//! Launching works on Linux only so far.
//!
//! Code map: `launch` (what to run), `process` (the owner), `output` and `input` (the streams),
//! `run` (one command from start to end), `capture` (bounded memory for output), `environment`
//! (which variables commands get); `steward`, `order`, `message` and `helper` (the processes
//! between).

mod capture;
mod environment;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod input;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod message;
#[cfg(target_os = "linux")]
mod order;
#[cfg(target_os = "linux")]
mod output;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod run;
mod status;
#[cfg(target_os = "linux")]
mod steward;
#[cfg(target_os = "linux")]
mod terminal;

pub use capture::{Capture, Captured, Keep};
pub use environment::{EnvironmentPolicy, Inherit, NamePattern};
pub use status::ExitStatus;
#[cfg(target_os = "linux")]
pub use {
    helper::run_helper_if_asked,
    input::Input,
    launch::{Launch, Launcher, SpawnError, Streams},
    output::{Chunk, Output, Stream},
    process::{Process, Spawned},
    run::{Ending, Finished, Limits, Listener, run},
    terminal::{Terminal, TerminalSize},
};
