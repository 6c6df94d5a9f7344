//! Encodes values for the helper process as length-prefixed bytes, which preserves paths and variables that are not
//! Unicode.
//!
//! Both ends are the same binary, so there is no version. Lengths are validated when reading.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The bytes were not written by an [`Encoder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed message")]
pub struct MalformedMessage;

/// Appends values one after the other.
#[derive(Debug, Default)]
pub struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    /// Appends a number.
    pub fn number(&mut self, value: u32) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Appends a yes or no.
    pub fn flag(&mut self, value: bool) -> &mut Self {
        self.number(u32::from(value))
    }

    /// Appends a string. Strings of 4 GiB and more are truncated; no system accepts them.
    pub fn string(&mut self, value: &OsStr) -> &mut Self {
        let bytes = value.as_bytes();
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.number(length);
        self.bytes.extend_from_slice(&bytes[..length as usize]);
        self
    }

    /// Appends a list, with `write` for each entry.
    pub fn list<T>(&mut self, values: &[T], write: impl Fn(&mut Self, &T)) -> &mut Self {
        self.number(u32::try_from(values.len()).unwrap_or(u32::MAX));
        for value in values {
            write(self, value);
        }
        self
    }

    /// The encoded bytes.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads values in the order in which they were written.
#[derive(Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    /// Starts at the first value.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], MalformedMessage> {
        let (head, tail) = self.rest.split_at_checked(count).ok_or(MalformedMessage)?;
        self.rest = tail;
        Ok(head)
    }

    /// Reads a number.
    pub fn number(&mut self) -> Result<u32, MalformedMessage> {
        let (head, tail) = self.rest.split_first_chunk::<4>().ok_or(MalformedMessage)?;
        self.rest = tail;
        Ok(u32::from_le_bytes(*head))
    }

    /// Reads a yes or no.
    pub fn flag(&mut self) -> Result<bool, MalformedMessage> {
        match self.number()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(MalformedMessage),
        }
    }

    /// Reads a string.
    pub fn string(&mut self) -> Result<OsString, MalformedMessage> {
        let length = self.number()?;
        Ok(OsString::from_vec(self.take(length as usize)?.to_vec()))
    }

    /// Reads a list, with `read` for each entry.
    pub fn list<T>(
        &mut self,
        read: impl Fn(&mut Self) -> Result<T, MalformedMessage>,
    ) -> Result<Vec<T>, MalformedMessage> {
        let count = self.number()?;
        (0..count).map(|_| read(self)).collect()
    }

    /// Checks that there are no more bytes.
    pub fn finish(self) -> Result<(), MalformedMessage> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(MalformedMessage)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let odd = OsString::from_vec(vec![0xff, b'a', 0x80]);
        let mut encoder = Encoder::default();
        encoder.number(7).flag(true).string(&odd);
        encoder.list(&[odd.clone(), OsString::new()], |e, s| {
            e.string(s);
        });
        let bytes = encoder.finish();
        let mut decoder = Decoder::new(&bytes);
        assert_eq!(decoder.number(), Ok(7));
        assert_eq!(decoder.flag(), Ok(true));
        assert_eq!(decoder.string().as_ref(), Ok(&odd));
        assert_eq!(
            decoder.list(Decoder::string),
            Ok(vec![odd, OsString::new()])
        );
        assert_eq!(decoder.finish(), Ok(()));
    }

    #[test]
    fn every_cut_is_noticed() {
        let mut encoder = Encoder::default();
        encoder.string(OsStr::new("abc")).list(&[1, 2], |e, n| {
            e.number(*n);
        });
        let bytes = encoder.finish();
        for cut in 0..bytes.len() {
            let mut decoder = Decoder::new(&bytes[..cut]);
            let whole = decoder
                .string()
                .and_then(|_| decoder.list(Decoder::number))
                .is_ok();
            assert!(!whole, "{cut} of {} bytes were taken for all", bytes.len());
        }
    }

    #[test]
    fn a_lying_length_allocates_nothing() {
        let bytes = u32::MAX.to_le_bytes();
        assert_eq!(Decoder::new(&bytes).string(), Err(MalformedMessage));
        assert_eq!(
            Decoder::new(&bytes).list(Decoder::number),
            Err(MalformedMessage)
        );
    }
}
