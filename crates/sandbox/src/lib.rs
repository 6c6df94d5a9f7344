//! Layer: capability. Enforces a sandbox policy by means of the operating system.
//!
//! A policy is either enforced at a known level, or the command is refused: [`plan()`] returns a [`LaunchPlan`] that names
//! its mechanisms, or a [`LaunchPlanError`] that names the missing one. This crate starts no process: the launcher of the command
//! applies the plan (on Linux in a helper process, see [`Confinement`]; on macOS by a wrapper command; on Windows by a
//! token, see `Confinement::apply`).
//!
//! Code map: `policy` (the policies), `network_limits` (limits of the network to hosts), `roots` (their paths), `hidden_now` (files that patterns hide), `bindings` (resolving roots), `engine_files` and
//! `service_sockets` (further protected paths), `plan` (selects mechanisms), `setup` (what
//! can be prepared), `linux`, `macos` and
//! `windows` (enforcement, and facts about files; one of them is the module `platform`), `access` (the part of `windows` that can be
//! tested on every system), `denial` (guesses whether the sandbox stopped a command).

#[cfg(any(windows, test))]
mod access;
mod bindings;
mod denial;
mod enforcement;
mod engine_files;
mod file_rules;
mod git_pointers;
mod hidden_now;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod network_limits;
mod network_mode;
mod plan;
mod plan_error;
mod policy;
mod requested_roots;
mod roots;
#[cfg(any(windows, target_os = "macos", test))]
mod same_names;
// Also part of the tests of other systems, which use less of it.
#[cfg(any(target_os = "macos", test))]
#[cfg_attr(
    not(target_os = "macos"),
    expect(dead_code, unreachable_pub, reason = "its tests run on every system")
)]
#[path = "macos/seatbelt.rs"]
mod seatbelt;
mod service_sockets;
mod setup;
mod setup_error;
mod unanswered;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;
#[cfg(unix)]
mod wire;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
use macos as platform;
#[cfg(windows)]
use windows as platform;

pub use bindings::ResolvedRoots;
pub use denial::looks_denied;
pub use enforcement::{Enforcement, EnforcementLevels, Namespaces};
pub use engine_files::{EngineFiles, GrantedRoots, ProgramFileList, TrustedProjects};
pub use file_rules::{FileRules, ProtectedPath, ReadScope, WhenAbsent};
pub use hidden_now::{hidden_by, hides_without_sandbox, hiding_rules, is_ignore_file};
#[cfg(target_os = "linux")]
pub use linux::{CommandSockets, ConfineError, ConfineStep, ProcessIdentity};
pub use network_limits::{HostLimit, LimitedCommands, NetworkLimits};
pub use network_mode::NetworkMode;
pub use plan::{LaunchPlan, limits_processes, plan, probe};
pub use plan_error::LaunchPlanError;
pub use platform::{Confinement, SANDBOX_NAME, temporary_folder};
pub use policy::{ConfinementPolicy, Grants, PolicyContext, ReadAccess, WorkspaceWrite};
pub use requested_roots::{effective_network, host_policy};
pub use service_sockets::known_service_sockets;
pub use setup::set_up;
pub use setup_error::SetUpError;
#[cfg(windows)]
pub use windows::{AppliedConfinement, ConfineError};
#[cfg(unix)]
pub use wire::{Decoder, Encoder, MalformedMessage};
