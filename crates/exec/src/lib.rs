//! Layer: capability. Child processes: spawning, terminals, output limits, killing whole process trees.
//!
//! All child processes are owned here: dropping a [`Process`] kills its tree, and so does the end of this process for any
//! reason.
//!
//! A supervisor process runs between this process and each command. It is forked by the spawner, a helper process that is
//! this program started under another name ([`run_helper_if_asked`]). The supervisor holds the other end of a socket; when
//! the socket closes, it kills all its descendants. If the launch plan says so, it also applies the sandbox (crate
//! `codex-sandbox`).
//!
//! Launching commands is implemented for Linux only.
//!
//! Code map: `launch` (starts a command), `process` (its owner), `output` and `input` (its streams), `run` (runs a command
//! to its end), `capture` (bounded memory for output), `environment` (variables of commands); `spawner`, `start_request`,
//! `message` and `helper` (the helper processes).

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
mod output;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod spawner;
#[cfg(target_os = "linux")]
mod start_request;
mod status;
#[cfg(target_os = "linux")]
mod terminal;

pub use capture::{CaptureLimits, CapturedOutput, OutputCapture};
pub use environment::{EnvironmentPolicy, InheritMode, NamePattern};
pub use status::ExitStatus;
#[cfg(target_os = "linux")]
pub use {
    helper::run_helper_if_asked,
    input::StandardInput,
    launch::{Launch, Launcher, SpawnError, StreamSetup},
    output::{OutputChunk, OutputStream, ProcessOutput},
    process::{Process, SpawnedProcess},
    run::{OutputObserver, RunEnd, RunLimits, RunOutcome, run},
    terminal::{Terminal, TerminalSize},
};
