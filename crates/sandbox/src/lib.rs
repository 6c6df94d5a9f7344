//! Layer: capability. Turns a sandbox policy into enforcement by the operating system.
//!
//! It owns the promise that a policy is enforced at a known level or the command is refused:
//! [`plan`] answers a [`LaunchPlan`] that names the mechanisms it will use, or a [`Refusal`] that
//! says which one is missing. It starts no process: whoever launches the command carries the plan
//! out (on Linux in a helper process, see [`Confinement`]; on macOS by a longer command line).
//!
//! Code map: `policy` (what is wanted), `roots` (which paths that means), `bindings` (what roots lead
//! to), `engine_files` and `service_sockets` (what is kept from commands besides), `markers` (what
//! marks a project), `plan` (can it be enforced here), `linux` (how), `seatbelt` (how, on macOS),
//! `denial` (did the sandbox stop it).

mod bindings;
mod denial;
mod engine_files;
#[cfg(target_os = "linux")]
mod linux;
mod markers;
mod plan;
mod policy;
mod roots;
mod seatbelt;
mod service_sockets;
#[cfg(unix)]
mod wire;

pub use bindings::BoundPaths;
pub use denial::looks_denied;
pub use engine_files::{EngineFiles, TrustedProjects};
#[cfg(target_os = "linux")]
pub use linux::{ConfineError, Confinement, Identity, Placeholders, Step};
pub use markers::{
    has_entry, has_marker, is_shared_folder, marked_folder, sweep_placeholders_once,
};
pub use plan::{
    Enforcement, LaunchPlan, Levels, Namespaces, Refusal, limits_processes, plan, probe,
};
pub use policy::{Grants, Network, Policy, ReadAccess, Surroundings, WorkspaceWrite};
pub use roots::{FileRules, ProtectedPath, ReadScope, WhenAbsent};
pub use seatbelt::SeatbeltProfile;
pub use service_sockets::known_service_sockets;
#[cfg(unix)]
pub use wire::{Decoder, Encoder, Malformed};
