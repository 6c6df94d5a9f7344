//! Where the log goes: to standard error, its end into memory, for reports of users, and into a file
//! where settings name a folder for one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use codex_feedback::LogTail;

/// There is one log in a process, and so one end of it.
static TAIL: LazyLock<LogTail> = LazyLock::new(LogTail::default);

/// The last that was logged.
pub(crate) fn tail() -> &'static LogTail {
    &TAIL
}

/// The file of the log, where settings name a folder for one.
static FILE: OnceLock<File> = OnceLock::new();

/// The largest log that is gone on with; a larger one makes room at the start of the program.
const LOG_LIMIT: u64 = 16 << 20;

/// Keeps the log in this folder too. Where that cannot be, the log says so.
pub(crate) fn keep_in(folder: &Path) {
    match open(&folder.join("codex.log")) {
        Ok(file) => drop(FILE.set(file)),
        Err(error) => tracing::warn!(%error, folder = %folder.display(), "no log can be kept"),
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    if fs::metadata(path).is_ok_and(|found| found.len() > LOG_LIMIT) {
        fs::rename(path, path.with_extension("log.1"))?;
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Writes to all of them.
#[derive(Debug)]
pub(crate) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        TAIL.push(bytes);
        // That nobody hears it is no reason to fail.
        io::stderr().write_all(bytes).ok();
        if let Some(mut file) = FILE.get() {
            file.write_all(bytes).ok();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
