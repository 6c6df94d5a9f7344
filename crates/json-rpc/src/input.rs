//! What a peer says, line by line.

use std::io;

use thiserror::Error;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use crate::message::{Message, Unreadable, read};

/// A longer line is not from a peer that means well: an image or two fit.
const LINE_LIMIT: u64 = 256 * 1024 * 1024;

/// Why no more is read.
#[derive(Debug, Error)]
pub enum InputError {
    /// The input cannot be read.
    #[error("cannot read the input: {0}")]
    Io(#[from] io::Error),
    /// A line is longer than any that makes sense.
    #[error("a line of the input is longer than {LINE_LIMIT} bytes")]
    TooLong,
}

/// Hands each message to `take` until the input ends. Blank lines are nothing.
///
/// # Errors
/// The input cannot be read.
pub async fn read_lines(
    input: impl AsyncRead + Unpin,
    mut take: impl FnMut(Result<Message, Unreadable>),
) -> Result<(), InputError> {
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = (&mut input).take(LINE_LIMIT);
        let length = limited.read_until(b'\n', &mut line).await?;
        if length == 0 {
            return Ok(());
        }
        if length as u64 == LINE_LIMIT {
            return Err(InputError::TooLong);
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            take(read(text.trim()));
        }
    }
}
