//! Where a command prints: what it answers, and beside it what is for people. Who starts the command says where that is.

use std::fmt::{self, Display};
use std::io::Write;

/// The outputs of a command.
pub struct Console<'a> {
    answers: &'a mut dyn Write,
    notes: &'a mut dyn Write,
    has_failed: bool,
}

impl fmt::Debug for Console<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Console");
        shown.field("has_failed", &self.has_failed);
        shown.finish_non_exhaustive()
    }
}

impl<'a> Console<'a> {
    pub fn new(answers: &'a mut dyn Write, notes: &'a mut dyn Write) -> Self {
        Self {
            answers,
            notes,
            has_failed: false,
        }
    }

    /// What the command answers, for a command that handles failures of writing itself.
    pub fn output(&mut self) -> &mut dyn Write {
        self.answers
    }

    /// Both outputs, for a command that writes to them itself.
    pub fn outputs(&mut self) -> (&mut dyn Write, &mut dyn Write) {
        (self.answers, self.notes)
    }

    /// Prints a line of what the command answers.
    pub fn answer(&mut self, line: impl Display) {
        self.answer_text(&format!("{line}\n"));
    }

    /// Prints what the command answers, as it is. A failure does not keep the command from its end.
    pub fn answer_text(&mut self, text: &str) {
        let written = self.answers.write_all(text.as_bytes());
        if let Err(error) = written.and_then(|()| self.answers.flush()) {
            self.has_failed = true;
            self.note(format_args!("error: cannot write the answer: {error}"));
        }
    }

    /// Prints a line for people. Where nobody can be told, there is nothing else to do.
    pub fn note(&mut self, line: impl Display) {
        let _ = writeln!(self.notes, "{line}");
    }

    /// Prints an error with its causes in one line. Some errors already include their cause.
    pub fn error(&mut self, error: &anyhow::Error) {
        let mut message = error.to_string();
        for cause in error.chain().skip(1).map(ToString::to_string) {
            if !message.ends_with(&cause) {
                message = format!("{message}: {cause}");
            }
        }
        self.note(format_args!("error: {message}"));
    }

    /// Whether an answer could not be written: the command has failed then, once it has tidied up.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// An output that takes nothing.
    struct FullDisk;

    impl Write for FullDisk {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn unwritable_answer_is_recorded_and_fails_the_command() {
        let mut notes = Vec::new();
        let mut full = FullDisk;
        let mut console = Console::new(&mut full, &mut notes);
        console.answer("lost");
        assert!(console.has_failed());
        let notes = String::from_utf8(notes).unwrap();
        assert!(
            notes.starts_with("error: cannot write the answer: "),
            "{notes}"
        );
    }

    #[test]
    fn error_names_each_cause_once() {
        let (mut answers, mut notes) = (Vec::new(), Vec::new());
        let mut console = Console::new(&mut answers, &mut notes);
        let error = anyhow::anyhow!("no file").context("it says: no file");
        console.error(&error.context("cannot start"));
        assert!(!console.has_failed());
        let notes = String::from_utf8(notes).unwrap();
        assert_eq!(notes, "error: cannot start: it says: no file\n");
    }
}
