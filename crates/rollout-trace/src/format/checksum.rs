//! Checksums of payload files and of log lines.
//!
//! Ours to write and optional to read: readers of the format ignore members that they do not know. A payload's stands in
//! the reference to it, a line's at its own end.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64;

/// The XXH3 hash of some bytes, written as 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum(Option<u64>);

/// The end of a line with a checksum, without its digits.
const LINE_HEAD: &[u8] = b",\"xxh3\":\"";
const LINE_TAIL: &[u8] = b"\"}";
const DIGITS: usize = 16;

impl Checksum {
    pub(crate) fn compute(bytes: &[u8]) -> Self {
        Self(Some(xxh3_64(bytes)))
    }

    /// Whether the bytes have this checksum. One that cannot be read agrees with nothing.
    #[must_use]
    pub fn agrees_with(self, bytes: &[u8]) -> bool {
        self.is(xxh3_64(bytes))
    }

    /// Whether bytes with this hash have this checksum.
    pub(crate) fn is(self, hash: u64) -> bool {
        self.0 == Some(hash)
    }

    fn parse(digits: &str) -> Self {
        let is_hash =
            digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        Self(
            is_hash
                .then(|| u64::from_str_radix(digits, 16).ok())
                .flatten(),
        )
    }
}

impl Serialize for Checksum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:016x}", self.0.unwrap_or_default()))
    }
}

impl<'de> Deserialize<'de> for Checksum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // An unexpected value must not make the line unreadable.
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(value.as_str().map_or(Self(None), Self::parse))
    }
}

/// Puts a checksum into a line, which must be one JSON object and have no line end yet.
pub(crate) fn seal_line(text: &mut Vec<u8>, start: usize) {
    text.pop();
    let Checksum(hash) = Checksum::compute(&text[start..]);
    text.extend_from_slice(LINE_HEAD);
    text.extend_from_slice(format!("{:016x}", hash.unwrap_or_default()).as_bytes());
    text.extend_from_slice(LINE_TAIL);
}

/// Whether a line is as it was written; none for one without a checksum.
pub(crate) fn line_agrees(line: &[u8]) -> Option<bool> {
    let (rest, digits) = line.strip_suffix(LINE_TAIL)?.split_last_chunk::<DIGITS>()?;
    let bytes = rest.strip_suffix(LINE_HEAD)?;
    let hash = Checksum::parse(std::str::from_utf8(digits).ok()?).0?;
    Some(hash == xxh3_64(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_detects_a_flipped_bit() {
        let mut line = br#"{"a":1}"#.to_vec();
        seal_line(&mut line, 0);
        assert_eq!(line_agrees(&line), Some(true));
        serde_json::from_slice::<serde_json::Value>(&line).unwrap();
        for bit in 0..8 {
            let mut flipped = line.clone();
            flipped[5] ^= 1 << bit;
            assert_eq!(line_agrees(&flipped), Some(false));
        }
        assert_eq!(line_agrees(br#"{"a":1}"#), None);
        assert_eq!(line_agrees(b""), None);
    }
}
