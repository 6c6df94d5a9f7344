//! Layer: capability. Turns a sandbox policy into enforcement by the operating system.
//!
//! It owns the promise that a policy is enforced at a known level or the command is refused:
//! [`plan`] answers a [`LaunchPlan`] that names the mechanisms it will use, or a [`Refusal`] that
//! says which one is missing. It starts no process: whoever launches the command carries the plan
//! out (on Linux in a helper process, see [`Confinement`]; on macOS by a longer command line).
//!
//! Code map: `policy` (what is wanted), `roots` (which paths that means), `plan` (can it be
//! enforced here), `linux` (how), `seatbelt` (how, on macOS), `denial` (did the sandbox stop it).

mod denial;
#[cfg(target_os = "linux")]
mod linux;
mod plan;
mod policy;
mod roots;
mod seatbelt;
#[cfg(unix)]
mod wire;

pub use denial::looks_denied;
#[cfg(target_os = "linux")]
pub use linux::{ConfineError, Confinement, Identity, Placeholders, Step};
pub use plan::{
    Enforcement, LaunchPlan, Levels, Namespaces, Refusal, limits_processes, plan, probe,
};
pub use policy::{Grants, Network, Policy, ReadAccess, Surroundings, WorkspaceWrite};
pub use roots::{FileRules, ProtectedPath, ReadScope, WhenAbsent};
pub use seatbelt::SeatbeltProfile;
#[cfg(unix)]
pub use wire::{Decoder, Encoder, Malformed};
