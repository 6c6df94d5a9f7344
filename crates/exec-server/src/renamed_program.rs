//! A command that is called by another name than that of its program (`arg0`).
//!
//! This program under a hidden first argument becomes it, inside the sandbox.

use std::ffi::OsString;
use std::path::Path;

/// The first argument that makes this program another one.
const ARGUMENT: &str = "exec-server-renamed-program";

/// The status where the program cannot be started, as shells have it.
const NOT_STARTED: i32 = 127;

/// The command that runs `command` under another name.
pub(crate) fn renamed(this_program: &Path, name: &str, command: &[String]) -> Vec<OsString> {
    let words = [this_program.into(), ARGUMENT.into(), name.into()].into_iter();
    words.chain(command.iter().map(OsString::from)).collect()
}

/// Becomes the program that the arguments name, if this process was started for it.
pub fn become_renamed_program_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(ARGUMENT.as_ref()) {
        return;
    }
    if let (Some(name), Some(program)) = (arguments.next(), arguments.next()) {
        let error = codex_system::process::become_program(&program, &name, arguments);
        // The command has no other way to say it.
        #[expect(clippy::print_stderr, reason = "for people")]
        {
            eprintln!("{}: {error}", program.display());
        }
    }
    std::process::exit(NOT_STARTED);
}
