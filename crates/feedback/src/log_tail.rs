//! Keeps the latest log output in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// The maximum number of bytes kept.
const MAX_BYTES: usize = 1024 * 1024;

/// The latest log output. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct LogTail(Arc<Mutex<VecDeque<u8>>>);

impl LogTail {
    /// Appends log output and drops the oldest beyond the limit.
    pub fn push(&self, bytes: &[u8]) {
        let mut tail = self.0.lock();
        let last = &bytes[bytes.len().saturating_sub(MAX_BYTES)..];
        let surplus = (tail.len() + last.len()).saturating_sub(MAX_BYTES);
        tail.drain(..surplus);
        tail.extend(last);
    }

    #[must_use]
    pub fn text(&self) -> String {
        let tail = self.0.lock();
        let (first, second) = tail.as_slices();
        String::from_utf8_lossy(&[first, second].concat()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_is_kept() {
        let tail = LogTail::default();
        tail.push(b"first\n");
        tail.push(&vec![b'x'; MAX_BYTES - 3]);
        tail.push(b"end");
        let text = tail.text();
        assert_eq!(text.len(), MAX_BYTES);
        assert!(text.ends_with("xend") && text.starts_with('x'));
    }
}
