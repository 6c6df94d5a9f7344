//! Websocket frames (RFC 6455) with `tungstenite`: reads headers of client frames, writes frames to clients.

use std::io::{self, Cursor};

use tokio::io::{AsyncRead, AsyncReadExt};
use tungstenite::protocol::frame::FrameHeader;
pub(super) use tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};

/// The longest header: two bytes, a length of eight, a mask of four.
const MAX_HEADER_BYTES: usize = 14;

/// The longest payload of a control frame.
const MAX_CONTROL_BYTES: u64 = 125;

/// Why reading from a client has ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("the client closed the connection")]
    Closed,
    #[error("invalid websocket frame")]
    Protocol,
    #[error("a text message is not valid UTF-8")]
    Encoding,
}

impl FrameError {
    /// The close code for the client.
    pub(super) fn close_code(&self) -> Option<CloseCode> {
        match self {
            Self::Io(_) => None,
            Self::Closed => Some(CloseCode::Normal),
            Self::Protocol => Some(CloseCode::Protocol),
            Self::Encoding => Some(CloseCode::Invalid),
        }
    }
}

/// The header of a client frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientFrameHeader {
    pub(super) is_last: bool,
    pub(super) opcode: OpCode,
    pub(super) length: u64,
    mask: [u8; 4],
}

impl ClientFrameHeader {
    /// Reads a header and checks the rules for clients.
    pub(super) async fn read(input: &mut (impl AsyncRead + Unpin)) -> Result<Self, FrameError> {
        let mut bytes = [0; MAX_HEADER_BYTES];
        input.read_exact(&mut bytes[..2]).await?;
        let mask = if bytes[1] & 0x80 == 0 { 0 } else { 4 };
        let end = mask
            + match bytes[1] & 0x7f {
                126 => 4,
                127 => 10,
                _ => 2,
            };
        input.read_exact(&mut bytes[2..end]).await?;
        let parsed = FrameHeader::parse(&mut Cursor::new(&bytes[..end]));
        let Ok(Some((header, length))) = parsed else {
            return Err(FrameError::Protocol);
        };
        Self::check(&header, length).ok_or(FrameError::Protocol)
    }

    fn check(header: &FrameHeader, length: u64) -> Option<Self> {
        let has_extension_bits = header.rsv1 || header.rsv2 || header.rsv3;
        let is_odd_control = matches!(header.opcode, OpCode::Control(_))
            && (length > MAX_CONTROL_BYTES || !header.is_final);
        if has_extension_bits || is_odd_control || length > u64::MAX / 2 {
            return None;
        }
        Some(Self {
            is_last: header.is_final,
            opcode: header.opcode,
            length,
            mask: header.mask?,
        })
    }

    /// Removes the mask from the payload.
    pub(super) fn unmask(&self, bytes: &mut [u8]) {
        for (byte, mask) in bytes.iter_mut().zip(self.mask.iter().cycle()) {
            *byte ^= mask;
        }
    }
}

/// Appends a frame for a client.
pub(super) fn write(
    into: &mut Vec<u8>,
    opcode: OpCode,
    is_last: bool,
    payload: &[u8],
) -> io::Result<()> {
    let header = FrameHeader {
        is_final: is_last,
        opcode,
        ..FrameHeader::default()
    };
    let length = payload.len() as u64;
    header.format(length, into).map_err(io::Error::other)?;
    into.extend_from_slice(payload);
    Ok(())
}

/// A frame as a client sends it, for tests.
#[cfg(test)]
pub(super) fn masked(opcode: OpCode, is_last: bool, payload: &[u8]) -> Vec<u8> {
    let mask = [7, 1, 200, 31];
    let header = FrameHeader {
        is_final: is_last,
        opcode,
        mask: Some(mask),
        ..FrameHeader::default()
    };
    let mut frame = Vec::new();
    header.format(payload.len() as u64, &mut frame).unwrap();
    let mask = mask.iter().cycle();
    frame.extend(payload.iter().zip(mask).map(|(byte, mask)| byte ^ mask));
    frame
}
