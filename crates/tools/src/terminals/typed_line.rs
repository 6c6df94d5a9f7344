//! The line that is being typed into a command.

/// A longer line is cut at its start. Terminals take lines of half of that.
const MAX_LINE: usize = 8 * 1024;

/// What was typed since the end of the last line, as it was typed: keys that edit a line are part of it.
#[derive(Debug, Default)]
pub(super) struct TypedLine(pub(super) String);

impl TypedLine {
    pub(super) fn add(&mut self, text: &str) {
        // Enter, in both forms, and an interrupt, after which shells begin another line.
        let rest = match text.rfind(['\n', '\r', '\u{3}']) {
            Some(end) => {
                self.0.clear();
                &text[end + 1..]
            }
            None => text,
        };
        self.0.push_str(rest);
        let excess = self.0.len().saturating_sub(MAX_LINE);
        self.0.drain(..self.0.ceil_char_boundary(excess));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_line_continues_until_its_end() {
        let mut line = TypedLine::default();
        for (text, expected) in [
            ("a", "a"),
            ("b\nc", "c"),
            ("d", "cd"),
            ("\r", ""),
            ("e\u{3}f", "f"),
        ] {
            line.add(text);
            assert_eq!(line.0, expected);
        }
        line.add(&"é".repeat(MAX_LINE));
        assert!(line.0.len() <= MAX_LINE && line.0.starts_with('é'));
    }
}
