//! Layer: capability. Scripts of the model that call tools: their source, the messages with the process that runs them,
//! and that process.
//!
//! A script is a cell. A thread has one process for its cells, the kernel: this program, started with [`KERNEL_COMMAND`].
//! For each cell the kernel forks a child, which has a JavaScript engine and nothing else: after its start it can read and
//! write one socket, and the system refuses it everything else. So a cell that exhausts its memory, loops or crashes ends
//! alone, and ending a cell is killing a process.
//!
//! Code map: `source` (what the model writes), `message` (lines between engine and cells), `names` and `declaration` (how
//! tools look to scripts), `kernel` (the process; not on Windows). Which tools there are, and what calls do, is the
//! engine's business.

mod declaration;
#[cfg(unix)]
mod kernel;
mod message;
mod names;
mod source;

pub use declaration::{declaration, type_of};
pub use message::{
    CallAnswer, CellCall, CellMessage, CellStart, ConsoleFolders, ConsoleScript, KernelLine,
    MAX_LINE, ScriptTool, end_line, read_line, run_line, start_line, to_cell_line, tools_line,
};
pub use names::{identifier, scoped_name};
pub use source::{CellSource, ConsoleSource, SourceProblem};

/// The argument that makes this program a kernel.
pub const KERNEL_COMMAND: &str = "code-mode-kernel";

/// Whether cells can run on this system.
pub const IS_SUPPORTED: bool = cfg!(unix);

/// Runs the kernel and exits, if the program was started for that.
pub fn run_kernel_if_asked() {
    #[cfg(unix)]
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == KERNEL_COMMAND)
    {
        std::process::exit(kernel::run());
    }
}
