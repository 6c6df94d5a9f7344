//! Layer: capability. Child processes: spawning, terminals, output limits, killing whole process trees.
//!
//! All child processes are owned here: dropping a [`Process`] kills its tree, and so does the end of this process for any
//! reason.
//!
//! On Linux and macOS a supervisor process runs between this process and each command: this program, started under another
//! name ([`run_helper_if_asked`]). The supervisor holds the other end of a socket; when the socket closes, it kills all
//! its descendants. On Linux it also applies the sandbox (crate `codex-sandbox`) if the launch plan says so. On Windows a
//! job object of the kernel has the same purpose.
//!
//! Code map: `launcher` (starts a command), `launch` (what it needs for that), `process` (its owner), `processes` (the port by
//! which others start commands), `output` and `input` (its streams), `run` (runs a command to its end), `capture` (bounded memory
//! for output), `environment` (variables of commands), `network` (questions about hosts and what a command reached). What systems
//! do differently is in `linux`, `macos` and `windows`, which have the same interface: `Backend`, `Terminal`, the ends of pipes.
//! `unix` and `supervised` are shared by the first two: messages to the supervisor, terminals, pipes; streams and reports of
//! commands. `descendants` is the part of `macos` that can be tested on every system; `command_line`, `environment_block`,
//! `program_file` and `typed_input` are those of `windows`.

mod capture;
#[cfg(any(windows, test))]
mod command_line;
#[cfg(any(target_os = "macos", test))]
mod descendants;
mod environment;
#[cfg(any(windows, test))]
mod environment_block;
mod input;
mod launch;
mod launcher;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod network;
mod output;
mod process;
mod processes;
#[cfg(any(windows, test))]
mod program_file;
mod run;
#[cfg(not(target_os = "linux"))]
mod running;
mod status;
#[cfg(unix)]
mod supervised;
mod terminal_size;
#[cfg(any(windows, test))]
mod typed_input;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
use macos as platform;
#[cfg(windows)]
use windows as platform;

pub use capture::{CaptureLimits, CapturedOutput, OutputCapture};
pub use environment::{EnvironmentPolicy, InheritMode, NamePattern};
pub use input::StandardInput;
pub use launch::{Launch, SpawnError, StreamSetup};
pub use launcher::Launcher;
pub use network::{
    AddressesFuture, CommandNetwork, HostAnswer, HostAnswerFuture, HostQuestions, NameResolver,
    NetworkLog, ReachedHost, RefusedHost, SystemResolver,
};
pub use output::{OutputChunk, OutputStream, ProcessOutput};
pub use platform::{Terminal, has_program, run_helper_if_asked};
pub use process::{Process, SpawnedProcess};
pub use processes::{ProcessInput, ProcessOwner, Processes, RunningProcess, SystemProcesses};
pub use run::{OutputObserver, RunEnd, RunLimits, RunOutcome, run};
pub use status::ExitStatus;
pub use terminal_size::TerminalSize;
