//! Layer: capability. Environments on other machines: the connections to their exec servers, and what is done over them.
//!
//! An exec server speaks JSON-RPC over a carrier: a websocket, or the standard streams of a command. [`Environments`] knows the
//! machines that settings and clients name. A [`RemoteMachine`] is the handle of one: its commands ([`RemoteProcess`]) and files. It knows
//! no threads.
//!
//! A lost connection is opened again for 45 seconds, for the same session. What was asked meanwhile waits; what was asked before is
//! asked again, which changes nothing if it was done: commands and writes carry ids. Handles of files are of one connection: what is
//! done with one begins anew. Output is numbered, put in order, and asked for
//! again from the last number. After that time everything that waits fails, and nothing is done on this machine instead.
//!
//! What the other side sends is checked and bounded: the length of messages, the memory for output that is not taken, answers to
//! questions that were not asked, output of commands that are not known.
//!
//! Code map. `wire` has the messages, which the exec server of this program also uses; `path` the paths of other machines.
//! `registry` knows the machines by id, `machine` is the handle, `files` its operations on files, `process` and `control` a command, `state` what may be wrong. `actor` keeps the
//! connection, `routes` gives commands their output, `carrier` opens connections, `child` is a carrier that is a command.

mod actor;
mod carrier;
mod child;
mod control;
mod facts;
mod files;
mod machine;
mod path;
mod process;
mod registry;
mod routes;
mod state;
pub mod wire;

pub use carrier::{Carrier, CarrierCommand, ExecServer};
pub use control::{ProcessControl, ProcessWriter, RemoteProcess};
pub use facts::{MachineFacts, ShellFacts};
pub use machine::RemoteMachine;
pub use path::RemotePath;
pub use process::{OutputPiece, RemoteCommand, RemoteExit, RemoteOutput};
pub use registry::{
    AddError, ConfiguredEnvironment, EnvironmentEntry, Environments, InfoError, MAX_ENVIRONMENTS,
};
pub use state::{ConnectionChange, MachineError, MachineState};
