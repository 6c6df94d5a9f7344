//! Captures output in bounded memory: keeps the beginning and the end, and counts the bytes between.

use std::collections::VecDeque;

/// How many bytes of the output are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureLimits {
    /// Bytes kept from the beginning.
    pub head: usize,
    /// Bytes kept from the end.
    pub tail: usize,
}

impl CaptureLimits {
    /// Keeps only the first bytes.
    #[must_use]
    pub fn first(bytes: usize) -> Self {
        Self {
            head: bytes,
            tail: 0,
        }
    }

    /// Keeps half from the beginning and half from the end.
    #[must_use]
    pub fn both_ends(bytes: usize) -> Self {
        let head = bytes / 2;
        Self {
            head,
            tail: bytes - head,
        }
    }
}

/// Captures output up to a limit.
#[derive(Debug)]
pub struct OutputCapture {
    keep: CaptureLimits,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl OutputCapture {
    /// An empty capture.
    #[must_use]
    pub fn new(keep: CaptureLimits) -> Self {
        Self {
            keep,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
        }
    }

    /// Appends output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.keep.head - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        self.push_tail(rest);
    }

    fn push_tail(&mut self, bytes: &[u8]) {
        let limit = self.keep.tail;
        let last = &bytes[bytes.len().saturating_sub(limit)..];
        let surplus = (self.tail.len() + last.len()).saturating_sub(limit);
        self.tail.drain(..surplus);
        self.tail.extend(last);
    }

    /// The total number of bytes so far.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the captured output and starts again.
    pub fn take(&mut self) -> CapturedOutput {
        let kept = (self.head.len() + self.tail.len()) as u64;
        CapturedOutput {
            omitted: self.total - kept,
            total: std::mem::take(&mut self.total),
            head: std::mem::take(&mut self.head),
            tail: std::mem::take(&mut self.tail).into(),
        }
    }
}

/// The result of a capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The beginning.
    pub head: Vec<u8>,
    /// The end; empty if everything fits into `head`.
    pub tail: Vec<u8>,
    /// The number of bytes left out between the two.
    pub omitted: u64,
    /// The total number of bytes.
    pub total: u64,
}

impl CapturedOutput {
    /// Beginning and end, without a note about the bytes between.
    #[must_use]
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.head.append(&mut self.tail);
        self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(keep: CaptureLimits, pieces: &[&str]) -> (String, String, u64) {
        let mut capture = OutputCapture::new(keep);
        for piece in pieces {
            capture.push(piece.as_bytes());
        }
        let out = capture.take();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(out.head), text(out.tail), out.omitted)
    }

    #[test]
    fn short_output_is_kept_whole() {
        let keep = CaptureLimits::both_ends(4);
        assert_eq!(captured(keep, &["a", "bcd"]), ("ab".into(), "cd".into(), 0));
    }

    #[test]
    fn the_middle_goes() {
        let keep = CaptureLimits::both_ends(5);
        let out = ("ab".into(), "xyz".into(), 3);
        assert_eq!(captured(keep, &["abcdexyz"]), out);
        assert_eq!(captured(keep, &["a", "bc", "dex", "y", "z"]), out);
        assert_eq!(captured(keep, &["abc", "de", "", "xyz"]), out);
    }

    #[test]
    fn capture_limit_of_zero_keeps_no_output() {
        let nothing = CaptureLimits::first(0);
        assert_eq!(
            captured(nothing, &["abc"]),
            (String::new(), String::new(), 3)
        );
        assert_eq!(captured(CaptureLimits::first(2), &["a", "bc"]).0, "ab");
    }

    #[test]
    fn taking_starts_anew() {
        let mut capture = OutputCapture::new(CaptureLimits::both_ends(2));
        capture.push(b"abc");
        assert_eq!(capture.take().omitted, 1);
        assert_eq!(capture.take(), CapturedOutput::default());
        capture.push(b"x");
        assert_eq!(capture.take().into_bytes(), b"x");
    }

    #[test]
    fn memory_stays_bounded() {
        let mut capture = OutputCapture::new(CaptureLimits::both_ends(1024));
        let piece = vec![b'x'; 64 * 1024];
        for _ in 0..1000 {
            capture.push(&piece);
        }
        assert!(capture.head.capacity() + capture.tail.capacity() < 8 * 1024);
        assert_eq!(capture.total(), 64_000 * 1024);
    }
}
