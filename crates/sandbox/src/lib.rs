//! Layer: capability. Enforces a sandbox policy by means of the operating system.
//!
//! A policy is either enforced at a known level, or the command is refused: [`plan`] returns a [`LaunchPlan`] that names
//! its mechanisms, or a [`LaunchPlanError`] that names the missing one. This crate starts no process: the launcher of the command
//! applies the plan (on Linux in a helper process, see [`LinuxConfinement`]; on macOS by a wrapper command).
//!
//! Code map: `policy` (the policies), `roots` (their paths), `bindings` (resolving roots), `engine_files` and
//! `service_sockets` (further protected paths), `markers` (project markers), `plan` (selects mechanisms), `linux` and
//! `seatbelt` (enforcement on Linux and macOS), `denial` (guesses whether the sandbox stopped a command).

mod bindings;
mod denial;
mod enforcement;
mod engine_files;
mod file_rules;
mod git_pointers;
#[cfg(target_os = "linux")]
mod linux;
mod markers;
mod plan;
mod policy;
mod requested_roots;
mod roots;
mod seatbelt;
mod service_sockets;
#[cfg(unix)]
mod wire;

pub use bindings::ResolvedRoots;
pub use denial::looks_denied;
pub use enforcement::{Enforcement, EnforcementLevels, Namespaces};
pub use engine_files::{EngineFiles, TrustedProjects};
pub use file_rules::{FileRules, ProtectedPath, ReadScope, WhenAbsent};
#[cfg(target_os = "linux")]
pub use linux::{ConfineError, ConfineStep, LinuxConfinement, Placeholders, ProcessIdentity};
pub use markers::{
    has_entry, has_marker, is_shared_folder, marked_folder, sweep_placeholders_once,
};
pub use plan::{LaunchPlan, LaunchPlanError, limits_processes, plan, probe};
pub use policy::{
    ConfinementPolicy, Grants, NetworkMode, PolicyContext, ReadAccess, WorkspaceWrite,
};
pub use seatbelt::SeatbeltProfile;
pub use service_sockets::known_service_sockets;
#[cfg(unix)]
pub use wire::{Decoder, Encoder, MalformedMessage};
