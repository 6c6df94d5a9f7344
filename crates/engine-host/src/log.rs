//! Log output: to standard error, to a buffer for feedback reports, and to a file if settings name a log folder.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{LazyLock, Once, OnceLock};

use codex_feedback::LogTail;

/// The log buffer. There is one log per process.
static TAIL: LazyLock<LogTail> = LazyLock::new(LogTail::default);

/// The latest log output.
pub fn tail() -> &'static LogTail {
    &TAIL
}

/// The log file, if settings name a folder.
static FILE: OnceLock<File> = OnceLock::new();

/// A larger log file is replaced when the program starts.
const LOG_LIMIT: u64 = 16 << 20;

/// Also logs to a file in this folder. A failure is logged.
pub fn keep_in(folder: &Path) {
    match open(&folder.join("codex.log")) {
        Ok(file) => drop(FILE.set(file)),
        Err(error) => tracing::warn!(%error, folder = %folder.display(), "no log can be kept"),
    }
}

fn open(path: &Path) -> io::Result<File> {
    codex_mounts::check(path)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    if fs::metadata(path).is_ok_and(|found| found.len() > LOG_LIMIT) {
        fs::rename(path, path.with_extension("log.1"))?;
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    codex_system::file::private(&mut options).open(path)
}

/// Starts logging to standard error and to the log buffer. `RUST_LOG` sets the level; `LOG_FORMAT=json` the format.
/// Nothing happens if it is started already.
pub fn start() {
    static LOG_START: Once = Once::new();
    LOG_START.call_once(set_up);
}

fn set_up() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("error"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| LogWriter);
    if std::env::var("LOG_FORMAT").is_ok_and(|format| format == "json") {
        log.json().init();
    } else {
        log.init();
    }
}

/// Writes to all log outputs.
#[derive(Debug)]
pub struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        TAIL.push(bytes);
        // A closed standard error must not make logging fail.
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
