//! Wraps streamed text at words, and styles `**bold**` and `` `code` ``.

use crate::style::{Mark, RESET, Style};

/// The state of one text.
#[derive(Debug)]
pub(crate) struct Wrap {
    style: Style,
    width: usize,
    indent: &'static str,
    /// The style of all lines.
    base: Option<Mark>,
    column: usize,
    spaces: usize,
    word: String,
    bold: bool,
    code: bool,
}

impl Wrap {
    pub(crate) fn new(
        style: Style,
        width: usize,
        indent: &'static str,
        base: Option<Mark>,
    ) -> Self {
        Self {
            style,
            width,
            indent,
            base,
            column: 0,
            spaces: 0,
            word: String::new(),
            bold: false,
            code: false,
        }
    }

    /// The newly printable part of the text.
    pub(crate) fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for character in text.chars() {
            match character {
                '\n' => {
                    self.put_word(&mut out);
                    out.push('\n');
                    (self.column, self.spaces) = (0, 0);
                }
                ' ' => {
                    self.put_word(&mut out);
                    self.spaces += 1;
                }
                character => self.word.push(character),
            }
        }
        out
    }

    /// The rest of the text, and the end of its line.
    pub(crate) fn finish(&mut self) -> String {
        let mut out = String::new();
        self.put_word(&mut out);
        if self.column > 0 {
            out.push('\n');
        }
        (self.column, self.spaces) = (0, 0);
        (self.bold, self.code) = (false, false);
        out
    }

    fn put_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let length = self.visible_length(&word);
        if self.column > 0 && self.column + self.spaces + length > self.width {
            out.push('\n');
            self.column = 0;
            self.spaces = 0;
        }
        if self.column == 0 {
            out.push_str(self.indent);
            self.column = self.indent.len();
        }
        out.extend(std::iter::repeat_n(' ', self.spaces));
        self.column += self.spaces + length;
        self.spaces = 0;
        match self.style {
            Style::Plain => out.push_str(&word),
            Style::Colour => self.put_marked(&word, out),
        }
    }

    fn put_marked(&mut self, word: &str, out: &mut String) {
        out.push_str(&self.codes());
        let mut rest = word;
        while let Some(first) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("**").filter(|_| !self.code) {
                self.bold = !self.bold;
                out.push_str(&self.codes());
                rest = after;
            } else if first == '`' {
                self.code = !self.code;
                out.push_str(&self.codes());
                rest = &rest[1..];
            } else {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        out.push_str(RESET);
    }

    fn codes(&self) -> String {
        let marks = [
            self.base,
            self.bold.then_some(Mark::Bold),
            self.code.then_some(Mark::Code),
        ];
        let codes = marks.into_iter().flatten().map(Mark::code);
        std::iter::once(RESET).chain(codes).collect()
    }

    fn visible_length(&self, word: &str) -> usize {
        let shown = word.chars().count();
        match self.style {
            Style::Plain => shown,
            Style::Colour => shown - 2 * word.matches("**").count() - word.matches('`').count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(pieces: &[&str]) -> String {
        let mut wrap = Wrap::new(Style::Plain, 12, "  ", None);
        let mut out: String = pieces.iter().map(|piece| wrap.push(piece)).collect();
        out.push_str(&wrap.finish());
        out
    }

    #[test]
    fn lines_break_at_words_however_the_text_comes() {
        let expected = "  one two\n  three\n\n  a  b\n";
        assert_eq!(wrapped(&["one two three\n\na  b"]), expected);
        assert_eq!(
            wrapped(&["on", "e two t", "hree\n", "\na", "  b"]),
            expected
        );
    }

    #[test]
    fn oversized_word_gets_its_own_line() {
        assert_eq!(
            wrapped(&["a bcdefghijklmnop q"]),
            "  a\n  bcdefghijklmnop\n  q\n"
        );
    }

    #[test]
    fn marks_do_not_count_and_are_not_shown() {
        let mut wrap = Wrap::new(Style::Colour, 12, "", None);
        let mut out = wrap.push("**bold** `-a *b*` end");
        out.push_str(&wrap.finish());
        assert!(!out.contains('`') && !out.contains("**"), "{out:?}");
        assert!(out.contains("*b*"), "{out:?}");
    }
}
