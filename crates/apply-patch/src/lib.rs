//! Layer: capability. Patches: parse, verify against files, apply as a whole or not at all, and diff.
//!
//! The way of a patch: [`Patch::parse`] reads the text, [`Patch::verify`] plays it against the files as they are and
//! gives a [`Plan`] (what changes, which real paths it touches once links are followed), and [`apply`] carries the plan
//! out: every step or none. [`TurnDiff`] adds up what the patches of a turn changed. [`run_program`] is the same three steps behind the `apply_patch` command line.
//!
//! It asks nobody for permission; the caller passes the gate between verifying and applying.

mod apply;
mod diff;
mod error;
mod files;
mod net;
mod overlay;
mod parse;
mod patch;
mod place;
mod plan;
mod program;
mod replace;
mod resolve;
mod seek;
mod turn_diff;
mod verify;

pub use apply::apply;
pub use diff::unified_diff;
pub use error::{ApplyError, Door, FileProblem, HunkProblem, ParseError, VerifyError};
pub use files::{Disk, Entry, Files};
pub use parse::is_patch;
pub use patch::Patch;
pub use plan::{Change, ChangeKind, Plan};
pub use program::{ProgramOutput, run_program};
pub use turn_diff::TurnDiff;
