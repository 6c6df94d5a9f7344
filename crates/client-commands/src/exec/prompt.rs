//! The prompt of a turn without a UI: from the arguments, from standard input, or from both.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use codex_engine_host::console::Console;
use codex_system::signals::Signals;

/// How long to wait for the first byte of what is piped in besides a prompt before a person is told.
const QUIET_WAIT: Duration = Duration::from_millis(500);
/// How long to wait for it in all. A program that leaves its pipe open without a word must not hold the run up for ever.
const FIRST_BYTE_WAIT: Duration = Duration::from_secs(10);
/// More of it is not read.
const LIMIT: usize = 8 * 1024 * 1024;

/// The prompt that is given, with what is piped in besides it, or else the one on standard input.
///
/// # Errors
/// There is no prompt, or standard input cannot be read.
pub fn read(given: Option<String>, console: &mut Console<'_>) -> anyhow::Result<String> {
    match given {
        Some(prompt) if prompt != "-" => return with_input(prompt, console),
        None if io::stdin().is_terminal() => {
            bail!("there is no prompt; give one as an argument, or pipe it in")
        }
        _ => {}
    }
    let mut prompt = String::new();
    io::stdin()
        .read_to_string(&mut prompt)
        .context("cannot read the prompt from standard input")?;
    if prompt.trim().is_empty() {
        bail!("the prompt on standard input is empty");
    }
    Ok(prompt)
}

/// The next prompt of the person at the terminal; none at the end of the input.
pub(super) async fn typed() -> anyhow::Result<Option<String>> {
    loop {
        let reading = tokio::task::spawn_blocking(|| {
            let mut out = io::stderr();
            write!(out, "\n> ")?;
            out.flush()?;
            let mut line = String::new();
            io::stdin().read_line(&mut line).map(|_| line)
        });
        // The first interrupt ends the prompts.
        let mut interrupts = Signals::interrupts()?;
        let line = tokio::select! {
            line = reading => line.context("standard input cannot be read")??,
            _ = interrupts.next() => return Ok(None),
        };
        match line.trim() {
            "" if line.is_empty() => return Ok(None),
            "" => {}
            prompt => return Ok(Some(prompt.to_owned())),
        }
    }
}

/// The prompt, and after it what is piped in.
fn with_input(prompt: String, console: &mut Console<'_>) -> anyhow::Result<String> {
    if io::stdin().is_terminal() {
        return Ok(prompt);
    }
    let PipedInput { bytes, end } =
        collect(&read_in_background(io::stdin()), FIRST_BYTE_WAIT, console);
    match end {
        InputEnd::Whole => {}
        InputEnd::NeverBegan => note(
            console,
            &format!(
                "nothing came from standard input within {} seconds, so it is not read; `< /dev/null` closes it",
                FIRST_BYTE_WAIT.as_secs()
            ),
        ),
        InputEnd::Cut => note(
            console,
            &format!(
                "standard input is longer than {} MiB; the rest of it is not read",
                LIMIT >> 20
            ),
        ),
        InputEnd::Failed(error) => {
            return Err(error).context("cannot read what is piped in from standard input");
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(match text.trim() {
        "" => prompt,
        _ => format!("{prompt}\n\n<stdin>\n{}\n</stdin>", text.trim_end()),
    })
}

/// For people, beside the progress.
fn note(console: &mut Console<'_>, text: &str) {
    console.note(format_args!("note: {text}."));
}

/// Sends what it reads until the input ends.
fn read_in_background(mut input: impl Read + Send + 'static) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, pieces) = channel();
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let piece = match input.read(&mut buffer) {
                Ok(0) => break,
                Ok(size) => Ok(buffer[..size].to_vec()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let has_failed = piece.is_err();
            if sender.send(piece).is_err() || has_failed {
                break;
            }
        }
    });
    pieces
}

struct PipedInput {
    bytes: Vec<u8>,
    end: InputEnd,
}

/// Why no more is read.
#[derive(Debug)]
enum InputEnd {
    Whole,
    NeverBegan,
    Cut,
    Failed(io::Error),
}

/// Once a byte has come, the input is read to its end, however long its writer pauses.
fn collect(
    pieces: &Receiver<io::Result<Vec<u8>>>,
    first_byte_wait: Duration,
    console: &mut Console<'_>,
) -> PipedInput {
    let mut bytes = Vec::new();
    let end = loop {
        let piece = if bytes.is_empty() {
            first_piece(pieces, first_byte_wait, console)
        } else {
            pieces.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match piece {
            Ok(Ok(piece)) => bytes.extend(piece),
            Ok(Err(error)) => break InputEnd::Failed(error),
            Err(RecvTimeoutError::Disconnected) => break InputEnd::Whole,
            Err(RecvTimeoutError::Timeout) => break InputEnd::NeverBegan,
        }
        if bytes.len() > LIMIT {
            bytes.truncate(LIMIT);
            break InputEnd::Cut;
        }
    };
    PipedInput { bytes, end }
}

fn first_piece(
    pieces: &Receiver<io::Result<Vec<u8>>>,
    wait: Duration,
    console: &mut Console<'_>,
) -> Result<io::Result<Vec<u8>>, RecvTimeoutError> {
    let quiet = QUIET_WAIT.min(wait);
    match pieces.recv_timeout(quiet) {
        Err(RecvTimeoutError::Timeout) => {
            note(console, "waiting for what is piped in from standard input");
            pieces.recv_timeout(wait.saturating_sub(quiet))
        }
        received => received,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails after this text.
    struct FailingInput(Option<&'static [u8]>);

    impl Read for FailingInput {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let text = self.0.take().ok_or(io::ErrorKind::Other)?;
            buffer[..text.len()].copy_from_slice(text);
            Ok(text.len())
        }
    }

    fn collect_quietly(
        pieces: &Receiver<io::Result<Vec<u8>>>,
        first_byte_wait: Duration,
    ) -> PipedInput {
        let (mut answers, mut notes) = (io::sink(), io::sink());
        let mut console = Console::new(&mut answers, &mut notes);
        collect(pieces, first_byte_wait, &mut console)
    }

    fn read_all(input: impl Read + Send + 'static) -> PipedInput {
        let pieces = read_in_background(input);
        collect_quietly(&pieces, FIRST_BYTE_WAIT)
    }

    #[test]
    fn input_that_ends_is_read_whole() {
        let input = read_all(&b"all of it"[..]);
        assert_eq!(input.bytes, b"all of it");
        assert!(matches!(input.end, InputEnd::Whole));
    }

    #[test]
    fn endless_input_is_cut_at_the_limit() {
        let input = read_all(io::repeat(b'y'));
        assert_eq!(input.bytes.len(), LIMIT);
        assert!(matches!(input.end, InputEnd::Cut));
    }

    #[test]
    fn input_that_fails_is_no_whole_input() {
        let input = read_all(FailingInput(Some(b"a part")));
        assert!(matches!(input.end, InputEnd::Failed(_)));
    }

    #[test]
    fn silent_standard_input_is_abandoned() {
        let (_open, pieces) = channel();
        let input = collect_quietly(&pieces, Duration::ZERO);
        assert!(matches!(input.end, InputEnd::NeverBegan));
    }
}
