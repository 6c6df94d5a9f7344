//! One turn without a UI, for scripts. A client of an app-server.

mod environment_choice;
mod options;
mod prompt;
mod run;
mod thread;
mod turn_printer;

pub use options::ExecOptions;
pub use prompt::read as read_prompt;
pub use run::{ExecTask, exec};
pub use thread::{StoredThread, ThreadChoice};
pub use turn_printer::INTERRUPTED_EXIT_CODE;
