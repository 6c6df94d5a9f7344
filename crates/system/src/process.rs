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

/// Becomes another program, which is called by a name that need not be its own. Returns only on failure.
#[cfg(unix)]
pub fn become_program(
    program: &std::ffi::OsStr,
    name: &std::ffi::OsStr,
    arguments: impl Iterator<Item = std::ffi::OsString>,
) -> std::io::Error {
    use std::os::unix::process::CommandExt as _;
    let mut command = std::process::Command::new(program);
    command.arg0(name).args(arguments).exec()
}

/// There is no such thing on this system.
#[cfg(not(unix))]
pub fn become_program(
    _: &std::ffi::OsStr,
    _: &std::ffi::OsStr,
    _: impl Iterator<Item = std::ffi::OsString>,
) -> std::io::Error {
    std::io::ErrorKind::Unsupported.into()
}
