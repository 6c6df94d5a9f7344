//! Websocket frames (RFC 6455): the header of one from a client, and one for a client.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Why nothing more is read from a client.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error("the connection is gone: {0}")]
    Io(#[from] io::Error),
    #[error("the client closed the connection")]
    Closed,
    #[error("what came is no websocket frame that a client may send")]
    Protocol,
    #[error("a text message is no UTF-8")]
    Encoding,
}

impl Broken {
    /// The reason for the client.
    pub(super) fn close_code(&self) -> Option<u16> {
        match self {
            Self::Io(_) => None,
            Self::Closed => Some(1000),
            Self::Protocol => Some(1002),
            Self::Encoding => Some(1007),
        }
    }
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    fn read(bits: u8) -> Result<Self, Broken> {
        Ok(match bits {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return Err(Broken::Protocol),
        })
    }

    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
        }
    }

    pub(super) fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// What stands before the bytes of a client's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) is_last: bool,
    pub(super) opcode: Opcode,
    pub(super) length: u64,
    mask: [u8; 4],
}

impl Header {
    /// Reads one, and holds it to what clients must keep to.
    pub(super) async fn read(input: &mut (impl AsyncRead + Unpin)) -> Result<Self, Broken> {
        let first = input.read_u8().await?;
        let second = input.read_u8().await?;
        let opcode = Opcode::read(first & 0x0f)?;
        let is_last = first & 0x80 != 0;
        let length = match second & 0x7f {
            126 => u64::from(input.read_u16().await?),
            127 => input.read_u64().await?,
            short => u64::from(short),
        };
        let has_extension_bits = first & 0x70 != 0;
        let is_masked = second & 0x80 != 0;
        let is_odd_control = opcode.is_control() && (length > 125 || !is_last);
        if has_extension_bits || !is_masked || is_odd_control || length > u64::MAX / 2 {
            return Err(Broken::Protocol);
        }
        let mut mask = [0; 4];
        input.read_exact(&mut mask).await?;
        Ok(Self {
            is_last,
            opcode,
            length,
            mask,
        })
    }

    /// Undoes the mask over the frame's bytes.
    pub(super) fn unmask(&self, bytes: &mut [u8]) {
        for (byte, mask) in bytes.iter_mut().zip(self.mask.iter().cycle()) {
            *byte ^= mask;
        }
    }
}

/// Adds a frame for a client.
pub(super) fn write(into: &mut Vec<u8>, opcode: Opcode, is_last: bool, payload: &[u8]) {
    into.push(opcode.bits() | if is_last { 0x80 } else { 0 });
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length), _) if length < 126 => into.push(length),
        (_, Ok(length)) => {
            into.push(126);
            into.extend_from_slice(&length.to_be_bytes());
        }
        _ => {
            into.push(127);
            into.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        }
    }
    into.extend_from_slice(payload);
}

/// A frame as a client sends it, for tests.
#[cfg(test)]
pub(super) fn masked(opcode: Opcode, is_last: bool, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    write(&mut frame, opcode, is_last, payload);
    let start = frame.len() - payload.len();
    let header = Header {
        is_last,
        opcode,
        length: payload.len() as u64,
        mask: [7, 1, 200, 31],
    };
    frame[1] |= 0x80;
    header.unmask(&mut frame[start..]);
    frame.splice(start..start, header.mask);
    frame
}
