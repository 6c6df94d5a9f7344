//! Programs that tests write and then start.
//!
//! A file that this process holds open for writing cannot be started ("Text file busy"), and a child that another test
//! starts in that moment inherits the open file for a while. So another process writes it.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Writes a script that can be started at once.
pub fn write_executable(path: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    let mut writer = Command::new("/bin/sh")
        .args(["-c", r#"cat > "$0" && chmod 755 "$0""#])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = writer.stdin.take() {
        input.write_all(text.as_ref())?;
    }
    finished(writer)
}

/// Copies a program so that the copy can be started at once.
pub fn copy_executable(from: &Path, to: &Path) -> io::Result<()> {
    finished(Command::new("cp").arg(from).arg(to).spawn()?)
}

fn finished(mut writer: Child) -> io::Result<()> {
    let status = writer.wait()?;
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other(status.to_string()))
}
