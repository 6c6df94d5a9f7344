//! The cells of a thread: scripts of the model that call tools.
//!
//! A cell runs in the kernel, a process of the thread that is started with its first cell (crate `codex-code-mode`). Its
//! calls are carried out by the turn that runs, with no more rights than the turn had that began it; between turns they wait. Everything that a cell sends is bounded: one that
//! sends more is ended.

mod caller;
mod cell;
mod console;
mod kernel;
mod messages;
mod registry;

pub use caller::{ScriptCall, ScriptCaller, ScriptOrigin, ScriptRejection, ScriptValue};
pub use cell::{Cell, CellBegin, CellReport, CellStatus};
pub use console::ConsoleRun;
pub use registry::{CellError, Cells, ServedTurn};
