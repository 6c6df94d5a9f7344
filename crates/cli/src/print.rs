//! What commands print: what they answer to standard output, what is for people to standard error.
//!
//! A reader that has left, such as `head`, is no failure: a command that only answers takes it for read, and one that works
//! for its reader ends with it. An answer that cannot be written for another reason is a failure.

use std::fmt::Display;
use std::io::{self, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use codex_engine_host::console::Console;

/// Whether an answer could not be written.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

/// Whether the reader of a command that ends with it has left.
static READER_HAS_LEFT: AtomicBool = AtomicBool::new(false);

/// The exit status of a command whose reader has left: that of programs which the system ends then.
pub(crate) const READER_LEFT: u8 = 141;

/// Standard output, for what a command answers. It takes everything once its reader has left.
pub(crate) fn output() -> Output {
    Output(io::stdout())
}

#[derive(Debug)]
pub(crate) struct Output(Stdout);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_left(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_left(self.0.flush(), ())
    }
}

fn unless_left<T>(written: io::Result<T>, otherwise: T) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(otherwise),
        written => written,
    }
}

/// Carries out a command that prints to the outputs of this process.
pub(crate) fn with_console<T>(act: impl FnOnce(&mut Console<'_>) -> T) -> T {
    carry_out(&mut output(), act)
}

/// Prints a line of what a command answers.
pub(crate) fn answer(line: impl Display) {
    with_console(|console| console.answer(line));
}

/// Prints what a command answers, as it is.
pub(crate) fn answer_text(text: &str) {
    with_console(|console| console.answer_text(text));
}

/// Standard output of a command that ends with its reader.
#[derive(Debug)]
struct ReaderOutput(Stdout);

impl ReaderOutput {
    fn noting_end<T>(written: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &written
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            READER_HAS_LEFT.store(true, Ordering::Relaxed);
        }
        written
    }
}

impl Write for ReaderOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::noting_end(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Self::noting_end(self.0.flush())
    }
}

/// The same for a command that ends with its reader.
pub(crate) fn with_console_for_reader<T>(act: impl FnOnce(&mut Console<'_>) -> T) -> T {
    carry_out(&mut ReaderOutput(io::stdout()), act)
}

fn carry_out<T>(answers: &mut dyn Write, act: impl FnOnce(&mut Console<'_>) -> T) -> T {
    let mut notes = io::stderr();
    let mut console = Console::new(answers, &mut notes);
    let done = act(&mut console);
    if console.has_failed() {
        HAS_FAILED.store(true, Ordering::Relaxed);
    }
    done
}

/// Whether the reader has left of a command that ends with it. There is nobody to be told then.
pub(crate) fn reader_has_left() -> bool {
    READER_HAS_LEFT.load(Ordering::Relaxed)
}

/// Whether an answer could not be written: the command has failed then, once it has tidied up.
pub(crate) fn has_failed() -> bool {
    HAS_FAILED.load(Ordering::Relaxed)
}

/// Prints a line for people, beside what a command answers.
pub(crate) fn note(line: impl Display) {
    with_console(|console| console.note(line));
}
