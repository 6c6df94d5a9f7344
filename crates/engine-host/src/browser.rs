//! The browser of the user.

use std::process::{Command, Stdio};

/// Opens the user's browser, if there is one; otherwise the printed address must suffice.
pub fn open_browser(url: &str) {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    // Commands in the sandbox may write other folders of the search path.
    let path = std::env::var_os("PATH");
    let of_system = codex_program_files::system_program(program, path.as_deref());
    let mut command = Command::new(of_system.unwrap_or_else(|| program.into()));
    command.arg(url).stdin(Stdio::null());
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
