//! Priorities, and programs that this process starts without owning them.

use tokio::process::Command;

/// Lets other work go first where processors are few. On Linux it applies to this thread and to those that it starts later;
/// elsewhere it has no effect.
pub fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        // Optional: the work is done all the same.
        let _ = rustix::process::setpriority_process(None, 10);
    }
}

/// Keeps signals of the terminal of this process from a program.
pub fn leave_terminal(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    command.process_group(0);
    command
}
