//! Where the log goes: to standard error, and its end into memory, for reports of users.

use std::io::{self, Write};
use std::sync::LazyLock;

use codex_feedback::LogTail;

/// There is one log in a process, and so one end of it.
static TAIL: LazyLock<LogTail> = LazyLock::new(LogTail::default);

/// The last that was logged.
pub(crate) fn tail() -> &'static LogTail {
    &TAIL
}

/// Writes to both.
#[derive(Debug)]
pub(crate) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        TAIL.push(bytes);
        // That nobody hears it is no reason to fail.
        io::stderr().write_all(bytes).ok();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
