//! The last that the program logged.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// Earlier lines are forgotten.
const LIMIT: usize = 1024 * 1024;

/// The last that the program logged. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct LogTail(Arc<Mutex<VecDeque<u8>>>);

impl LogTail {
    /// Adds what was logged.
    pub fn push(&self, bytes: &[u8]) {
        let mut tail = self.0.lock();
        let last = &bytes[bytes.len().saturating_sub(LIMIT)..];
        let surplus = (tail.len() + last.len()).saturating_sub(LIMIT);
        tail.drain(..surplus);
        tail.extend(last);
    }

    /// All of it.
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
        tail.push(&vec![b'x'; LIMIT - 3]);
        tail.push(b"end");
        let text = tail.text();
        assert_eq!(text.len(), LIMIT);
        assert!(text.ends_with("xend") && text.starts_with('x'));
    }
}
