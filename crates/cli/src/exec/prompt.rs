//! The prompt of `codex exec`: from the arguments, from standard input, or from both.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};

/// How long to wait for the beginning of what is piped in besides a prompt.
const BEGINNING: Duration = Duration::from_millis(500);
/// How long to wait for more of it.
const PAUSE: Duration = Duration::from_secs(2);
/// More of it is not read.
const LIMIT: usize = 8 * 1024 * 1024;

/// The prompt from the arguments, with what is piped in besides it, or else the one on standard input.
pub(super) fn read(given: Option<String>) -> anyhow::Result<String> {
    match given {
        Some(prompt) if prompt != "-" => return Ok(with_input(prompt)),
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

/// The prompt, and after it what is piped in. An input that begins late or never ends is not waited for.
fn with_input(prompt: String) -> String {
    if io::stdin().is_terminal() {
        return prompt;
    }
    let PipedInput { text, is_complete } = collect(&read_in_background(io::stdin()));
    if !is_complete {
        #[allow(clippy::print_stderr)] // For people, beside the progress.
        {
            eprintln!(
                "note: standard input does not end; {} bytes of it were read. `< /dev/null` closes it.",
                text.len()
            );
        }
    }
    let text = String::from_utf8_lossy(&text);
    match text.trim() {
        "" => prompt,
        _ => format!("{prompt}\n\n<stdin>\n{}\n</stdin>", text.trim_end()),
    }
}

/// Sends what it reads until the input ends.
fn read_in_background(mut input: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, pieces) = channel();
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(size @ 1..) = input.read(&mut buffer) {
            if sender.send(buffer[..size].to_vec()).is_err() {
                break;
            }
        }
    });
    pieces
}

struct PipedInput {
    text: Vec<u8>,
    is_complete: bool,
}

fn collect(pieces: &Receiver<Vec<u8>>) -> PipedInput {
    let mut text = Vec::new();
    let is_complete = loop {
        let patience = if text.is_empty() { BEGINNING } else { PAUSE };
        match pieces.recv_timeout(patience) {
            Ok(piece) => text.extend(piece),
            Err(end) => break end == RecvTimeoutError::Disconnected,
        }
        if text.len() > LIMIT {
            text.truncate(LIMIT);
            break false;
        }
    };
    PipedInput { text, is_complete }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_that_ends_is_read_whole() {
        let input = collect(&read_in_background(&b"all of it"[..]));
        assert_eq!(
            (input.text.as_slice(), input.is_complete),
            (&b"all of it"[..], true)
        );
    }

    #[test]
    fn an_endless_input_is_cut() {
        let input = collect(&read_in_background(io::repeat(b'y')));
        assert_eq!((input.text.len(), input.is_complete), (LIMIT, false));
    }
}
