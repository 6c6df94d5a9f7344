//! Layer: tests. Runs the app-server on a simulated machine: threads, time, randomness, programs and the model follow from a seed, and so
//! do its clients and the moments at which its process is killed. What must hold is checked afterwards.
//!
//! Start with `plan` (what happens), `engine` (one simulated process), `checks` (what must hold) and `machine` (the machine).
#![cfg(target_os = "linux")]

mod checks;
mod clients;
mod connections;
mod engine;
mod machine;
mod mcp_servers;
mod model;
mod plan;
mod problem;
mod process_starter;
mod program;
mod programs;
mod record;
mod shrink;
mod worker;

pub use program::main;
