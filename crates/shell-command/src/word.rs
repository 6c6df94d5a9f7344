//! A word of a command, unquoted as bash does it, if bash performs no unknown expansion.

/// A word and the expansions that bash may still apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellWord {
    pub(crate) text: String,
    /// Whether it contains an unquoted glob or brace.
    expands: bool,
    /// Whether it begins with an unquoted glob, brace or `~`.
    expands_at_start: bool,
}

impl ShellWord {
    /// A word that no shell processes.
    pub(crate) fn literal(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            expands: false,
            expands_at_start: false,
        }
    }

    /// Parses the source of a word. `None` if it contains anything but plain text, quotes, escapes, globs and braces.
    pub(crate) fn parse(source: &str) -> Option<Self> {
        let mut word = Self::literal("");
        let mut chars = source.chars();
        let mut at_start = true;
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next()? {
                    '\n' => continue,
                    escaped => word.text.push(escaped),
                },
                '\'' => word.raw_string(&mut chars)?,
                '"' => word.string(&mut chars)?,
                '$' | '`' | '(' | ')' | '<' | '>' | '&' | '|' | ';' => return None,
                '#' if at_start => return None,
                c if c.is_whitespace() || c.is_control() => return None,
                '*' | '?' | '[' | '{' => {
                    word.expands = true;
                    // Empty quotes before it add no text.
                    word.expands_at_start |= word.text.is_empty();
                    word.text.push(c);
                }
                '~' if at_start => {
                    word.expands_at_start = true;
                    word.text.push(c);
                }
                c => word.text.push(c),
            }
            at_start = false;
        }
        Some(word)
    }

    fn raw_string(&mut self, chars: &mut std::str::Chars<'_>) -> Option<()> {
        loop {
            match chars.next()? {
                '\'' => return Some(()),
                c => self.text.push(c),
            }
        }
    }

    fn string(&mut self, chars: &mut std::str::Chars<'_>) -> Option<()> {
        loop {
            match chars.next()? {
                '"' => return Some(()),
                '$' | '`' => return None,
                '\\' => match chars.next()? {
                    '\n' => {}
                    escaped @ ('$' | '`' | '"' | '\\') => self.text.push(escaped),
                    other => self.text.extend(['\\', other]),
                },
                c => self.text.push(c),
            }
        }
    }

    /// Whether the program receives exactly this text.
    pub(crate) fn is_fixed(&self) -> bool {
        !self.expands && !self.expands_at_start
    }

    /// Whether an expansion may produce an option: a file name that looks like one, or a brace expansion.
    pub(crate) fn may_become_option(&self) -> bool {
        self.expands && (self.expands_at_start || self.text.starts_with('-'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_escapes_are_resolved() {
        for (source, text) in [
            ("ls", "ls"),
            ("a\\ b", "a b"),
            ("-\\delete", "-delete"),
            ("a'b c'\"d\"", "ab cd"),
            ("\"a\\\"b\\n\\$c\\\nd\"", "a\"b\\n$cd"),
            ("'a\\b'", "a\\b"),
            ("\"\"", ""),
            ("a\\\nb", "ab"),
            ("a#b", "a#b"),
        ] {
            assert_eq!(
                ShellWord::parse(source),
                Some(ShellWord::literal(text)),
                "{source}"
            );
        }
    }

    #[test]
    fn expansions_and_open_quotes_are_no_words() {
        for source in [
            "$x", "\"$x\"", "`x`", "\"`x`\"", "a\\", "'a", "\"a", "a b", "a;b", "#a", "a\u{a0}b",
        ] {
            assert_eq!(ShellWord::parse(source), None, "{source}");
        }
    }

    #[test]
    fn expansions_that_may_hide_an_option() {
        let hides = |source| {
            ShellWord::parse(source)
                .expect("a word")
                .may_become_option()
        };
        assert!(
            [
                "*",
                "?x",
                "\"\"{-delete,}",
                "''*",
                "\\\n*",
                "{-delete,}",
                "-{a,b}",
                "-dele[t]e",
                "[-]x"
            ]
            .into_iter()
            .all(hides)
        );
        assert!(
            !["src/*.rs", "./*", "'*'", "\\*", "a{b,c}", "~/x", "-x"]
                .into_iter()
                .any(hides)
        );
    }
}
