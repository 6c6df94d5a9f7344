//! A client on a websocket: one message per text frame.
//!
//! Long messages are sent in fragments, so that a ping is answered in between. A client without activity gets a ping,
//! and is disconnected if it does not respond. Binary messages are ignored. Protocol errors are answered with a close
//! frame.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

use super::InputLine;
use super::frame::{self, ClientFrameHeader, CloseCode, Control, Data, FrameError, OpCode};
use crate::message::EncodedMessage;
use crate::outbox::Outbox;

/// The longest frame, and the most that is written at once.
const PIECE_BYTES: usize = 64 * 1024;

/// The idle time before a ping, and then before the connection is closed.
const PING_AFTER: Duration = Duration::from_secs(30);

/// Control frames, which the reader queues for the writer.
#[derive(Debug, Default)]
pub(super) struct ControlQueue {
    pending: Mutex<PendingFrames>,
    changed: Notify,
    close_code: OnceLock<CloseCode>,
    /// Whether the client sent or read anything since the last check.
    is_alive: AtomicBool,
}

/// Control frames to send between other frames.
#[derive(Debug, Default)]
struct PendingFrames {
    /// Only the last of several pings needs a reply.
    pong: Option<Vec<u8>>,
    ping: bool,
}

impl ControlQueue {
    /// Sets the reason in the close frame.
    pub(super) fn set_close_reason(&self, broken: &FrameError) {
        if let Some(code) = broken.close_code() {
            let _ = self.close_code.set(code);
        }
    }

    /// Waits until the client does not respond to a ping.
    pub(super) async fn until_silent(&self) {
        loop {
            tokio::time::sleep(PING_AFTER).await;
            if self.is_alive.swap(false, Ordering::Relaxed) {
                continue;
            }
            self.pending.lock().ping = true;
            self.changed.notify_one();
            tokio::time::sleep(PING_AFTER).await;
            if !self.is_alive.swap(false, Ordering::Relaxed) {
                return;
            }
        }
    }

    fn mark_alive(&self) {
        self.is_alive.store(true, Ordering::Relaxed);
    }

    fn pong(&self, payload: Vec<u8>) {
        self.pending.lock().pong = Some(payload);
        self.changed.notify_one();
    }

    fn take(&self) -> Option<(OpCode, Vec<u8>)> {
        let mut pending = self.pending.lock();
        if let Some(payload) = pending.pong.take() {
            return Some((OpCode::Control(Control::Pong), payload));
        }
        std::mem::take(&mut pending.ping).then(|| (OpCode::Control(Control::Ping), Vec::new()))
    }

    async fn next(&self) -> (OpCode, Vec<u8>) {
        loop {
            if let Some(frame) = self.take() {
                return frame;
            }
            self.changed.notified().await;
        }
    }
}

/// Reads messages.
#[derive(Debug)]
pub(super) struct WebSocketReader<R> {
    input: R,
    limit: usize,
}

impl<R: AsyncRead + Unpin> WebSocketReader<R> {
    pub(super) fn new(input: R, limit: usize) -> Self {
        Self { input, limit }
    }

    /// The next text message. Queues replies to pings.
    pub(super) async fn next(&mut self, control: &ControlQueue) -> Result<InputLine, FrameError> {
        let mut message = Vec::new();
        let mut kind = None;
        let mut is_too_long = false;
        loop {
            let header = ClientFrameHeader::read(&mut self.input).await?;
            control.mark_alive();
            match (header.opcode, kind) {
                (OpCode::Control(opcode), _) => {
                    self.take_control(opcode, &header, control).await?;
                    continue;
                }
                (OpCode::Data(Data::Continue), Some(_)) => {}
                (OpCode::Data(begun @ (Data::Text | Data::Binary)), None) => kind = Some(begun),
                _ => return Err(FrameError::Protocol),
            }
            let length = usize::try_from(header.length).unwrap_or(usize::MAX);
            is_too_long |= length > self.limit.saturating_sub(message.len());
            if is_too_long || kind == Some(Data::Binary) {
                message = Vec::new();
                self.skip(header.length).await?;
            } else {
                self.append(&header, length, &mut message).await?;
            }
            if !header.is_last {
                continue;
            }
            match kind.take() {
                Some(Data::Binary) => tracing::warn!("a binary message is dropped"),
                _ if is_too_long => return Ok(InputLine::TooLong),
                _ if std::str::from_utf8(&message).is_err() => return Err(FrameError::Encoding),
                _ => return Ok(InputLine::Whole(message)),
            }
            is_too_long = false;
        }
    }

    async fn append(
        &mut self,
        header: &ClientFrameHeader,
        length: usize,
        message: &mut Vec<u8>,
    ) -> Result<(), FrameError> {
        let start = message.len();
        // Memory is allocated for received bytes, not for the length in the header.
        let mut payload = (&mut self.input).take(header.length);
        if payload.read_to_end(message).await? < length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        header.unmask(&mut message[start..]);
        Ok(())
    }

    async fn skip(&mut self, length: u64) -> Result<(), FrameError> {
        let mut rest = (&mut self.input).take(length);
        match tokio::io::copy(&mut rest, &mut tokio::io::sink()).await? {
            skipped if skipped < length => {
                Err(io::Error::from(io::ErrorKind::UnexpectedEof).into())
            }
            _ => Ok(()),
        }
    }

    async fn take_control(
        &mut self,
        opcode: Control,
        header: &ClientFrameHeader,
        control: &ControlQueue,
    ) -> Result<(), FrameError> {
        let mut payload = Vec::new();
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        self.append(header, length, &mut payload).await?;
        match opcode {
            Control::Close => return Err(FrameError::Closed),
            Control::Ping => control.pong(payload),
            _ => {}
        }
        Ok(())
    }
}

/// Writes the messages of the outbox until it is closed and empty, then the close frame.
pub(super) async fn write(
    mut output: impl AsyncWrite + Unpin,
    outbox: &Outbox,
    control: &ControlQueue,
) -> io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        tokio::select! {
            biased;
            (opcode, payload) = control.next() => {
                frame::write(&mut buffer, opcode, true, &payload)?;
                // A written ping is not activity: it may be buffered.
                output.write_all(&buffer).await?;
                continue;
            }
            batch = outbox.next() => match batch {
                Some(batch) => {
                    for message in batch.0 {
                        write_text(&mut output, &mut buffer, message, control).await?;
                    }
                }
                None => break,
            },
        }
        output.write_all(&buffer).await?;
        control.mark_alive();
    }
    let code = control.close_code.get().copied();
    send_close(&mut output, code.unwrap_or(CloseCode::Away)).await
}

/// Frames a message. Writes full buffers and keeps the rest.
async fn write_text(
    output: &mut (impl AsyncWrite + Unpin),
    buffer: &mut Vec<u8>,
    message: EncodedMessage,
    control: &ControlQueue,
) -> io::Result<()> {
    let mut pieces = message.into_text_pieces(PIECE_BYTES).peekable();
    let mut opcode = OpCode::Data(Data::Text);
    loop {
        let piece = pieces.next().unwrap_or_default();
        let is_last = pieces.peek().is_none();
        frame::write(buffer, opcode, is_last, &piece)?;
        opcode = OpCode::Data(Data::Continue);
        if buffer.len() >= PIECE_BYTES {
            if let Some((opcode, payload)) = control.take() {
                frame::write(buffer, opcode, true, &payload)?;
            }
            output.write_all(buffer).await?;
            control.mark_alive();
            buffer.clear();
        }
        if is_last {
            return Ok(());
        }
    }
}

async fn send_close(output: &mut (impl AsyncWrite + Unpin), code: CloseCode) -> io::Result<()> {
    let mut frame = Vec::new();
    let opcode = OpCode::Control(Control::Close);
    frame::write(&mut frame, opcode, true, &u16::from(code).to_be_bytes())?;
    output.write_all(&frame).await?;
    output.shutdown().await
}

#[cfg(test)]
mod tests;
