//! Encoded messages.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

/// An encoded message with its line end. Cheap to clone.
#[derive(Clone, Debug)]
pub enum EncodedMessage {
    /// In one piece.
    Whole(Bytes),
    /// In consecutive parts, most of which are shared with other messages, or too large to copy.
    Parts(Arc<[Bytes]>),
}

impl From<Bytes> for EncodedMessage {
    fn from(line: Bytes) -> Self {
        Self::Whole(line)
    }
}

impl From<Vec<u8>> for EncodedMessage {
    fn from(line: Vec<u8>) -> Self {
        Self::Whole(line.into())
    }
}

impl From<Vec<Bytes>> for EncodedMessage {
    fn from(parts: Vec<Bytes>) -> Self {
        Self::Parts(parts.into())
    }
}

impl EncodedMessage {
    pub fn parts(&self) -> &[Bytes] {
        match self {
            Self::Whole(line) => std::slice::from_ref(line),
            Self::Parts(parts) => parts,
        }
    }

    pub fn byte_count(&self) -> usize {
        self.parts().iter().map(Bytes::len).sum()
    }

    /// Splits the message into pieces of `size` bytes; the last one may be shorter.
    pub fn into_pieces(self, size: usize) -> MessagePieces {
        let left = self.byte_count();
        MessagePieces {
            message: self,
            part: 0,
            at: 0,
            left,
            size,
        }
    }

    /// Like `into_pieces`, without the line end.
    pub fn into_text_pieces(self, size: usize) -> MessagePieces {
        let mut pieces = self.into_pieces(size);
        pieces.left -= usize::from(pieces.left > 0);
        pieces
    }
}

/// The pieces of a message.
#[derive(Debug)]
pub struct MessagePieces {
    message: EncodedMessage,
    part: usize,
    at: usize,
    left: usize,
    size: usize,
}

impl Iterator for MessagePieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let length = self.left.min(self.size);
        if length == 0 {
            return None;
        }
        self.left -= length;
        let mut piece = BytesMut::new();
        loop {
            let part = self.message.parts().get(self.part)?;
            let end = part.len().min(self.at + length - piece.len());
            let found = part.slice(self.at..end);
            self.at = end;
            if end == part.len() {
                (self.part, self.at) = (self.part + 1, 0);
            }
            if found.len() == length {
                return Some(found);
            }
            piece.reserve(length - piece.len());
            piece.extend_from_slice(&found);
            if piece.len() == length {
                return Some(piece.freeze());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_every_size_make_the_same_line() {
        let whole = EncodedMessage::from(b"0123456789\n".to_vec());
        let parts =
            ["012", "", "3", "456789", "\n"].map(|part| Bytes::from_static(part.as_bytes()));
        let parts = EncodedMessage::from(parts.to_vec());
        for message in [whole, parts] {
            assert_eq!(message.byte_count(), 11);
            for size in 1..13 {
                let pieces: Vec<_> = message.clone().into_pieces(size).collect();
                assert_eq!(pieces.concat(), b"0123456789\n");
                assert!(pieces.iter().rev().skip(1).all(|piece| piece.len() == size));
                let text: Vec<_> = message.clone().into_text_pieces(size).collect();
                assert_eq!(text.concat(), b"0123456789");
                assert_eq!(text.len(), 10_usize.div_ceil(size));
            }
        }
    }
}
