//! What commands print: what they answer to standard output, what is for people to standard error.
//!
//! A reader that has left, such as `head`, is no failure. An answer that cannot be written is one.

use std::fmt::Display;
use std::io::{self, Write};
use std::process;

/// Prints a line of what a command answers.
pub(crate) fn answer(line: impl Display) {
    answer_text(&format!("{line}\n"));
}

/// Prints what a command answers, as it is.
pub(crate) fn answer_text(text: &str) {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        note(format_args!("error: cannot write the answer: {error}"));
        process::exit(1);
    }
}

/// Prints a line for people, beside what a command answers. Where nobody can be told, there is nothing else to do.
pub(crate) fn note(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
