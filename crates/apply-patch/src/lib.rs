//! Layer: capability. Patches: parse, verify against files, apply as a whole or not at all, and diff.
//!
//! [`Patch::parse`] reads the text. [`Patch::verify`] compares it with the files and returns a [`PatchPlan`]: the changes and
//! the real paths they touch, with links followed. [`apply()`] applies the plan, all steps or none. [`TurnDiff`] collects
//! what the patches of a turn changed. [`written_changes`] reads a patch that is not complete. [`run_program`] is the `apply_patch` command line for the same steps.
//!
//! This crate asks for no permission: the caller passes the gate between verifying and applying.

mod apply;
mod error;
mod files;
mod location;
mod net_changes;
mod overlay;
mod parse;
mod patch;
mod plan;
mod program;
mod replace;
mod resolve;
mod seek;
mod turn_diff;
mod verify;
mod written;

pub use apply::apply;
pub use error::{ApplyError, FileProblem, HunkProblem, ParseError, PatchCaller, VerifyError};
pub use files::{DiskFiles, FileAccess, FileEntry};
pub use parse::is_patch;
pub use patch::Patch;
pub use plan::{ChangeKind, PatchChange, PatchPlan, PlannedFile};
pub use program::{ProgramOutput, run_program};
pub use turn_diff::TurnDiff;
pub use written::{WrittenChange, written_changes};
