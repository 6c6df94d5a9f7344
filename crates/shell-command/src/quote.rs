//! Words back into one line that a POSIX shell reads as the same words.

/// The words, each quoted where it has to be, with blanks between.
pub fn quote_command<S: AsRef<str>>(words: &[S]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word.as_ref())).collect();
    quoted.join(" ")
}

/// One word. Bare where possible, else in the fewest pieces: single quotes before double ones.
pub fn quote(word: &str) -> String {
    if word.is_empty() {
        return "''".to_owned();
    }
    let mut line = String::with_capacity(word.len() + 2);
    let mut rest = word;
    while !rest.is_empty() {
        let (length, style) = longest_piece(rest);
        let (piece, after) = rest.split_at(length);
        style.write(piece, &mut line);
        rest = after;
    }
    line
}

/// The ways to write a piece that are still open, best first.
#[derive(Clone, Copy)]
struct Style {
    bare: bool,
    single: bool,
    double: bool,
}

impl Style {
    /// What stays possible when `c` is added. A caret must come first in its quotes: some shells take it for a history
    /// substitution elsewhere.
    fn and(self, c: char, first: bool) -> Self {
        let bare = c.is_ascii_alphanumeric() || "+-./:@]_".contains(c);
        let single = !matches!(c, '\'' | '\\') && (c != '^' || first);
        let double = !matches!(c, '$' | '`' | '!' | '^');
        Self {
            bare: self.bare && bare,
            single: self.single && single,
            double: self.double && double,
        }
    }

    fn is_any(self) -> bool {
        self.bare || self.single || self.double
    }

    fn write(self, piece: &str, line: &mut String) {
        if self.bare {
            line.push_str(piece);
        } else if self.single {
            line.extend(["'", piece, "'"]);
        } else {
            line.push('"');
            for c in piece.chars() {
                if matches!(c, '"' | '\\') {
                    line.push('\\');
                }
                line.push(c);
            }
            line.push('"');
        }
    }
}

/// How far one style reaches from the start of `rest`, which is not empty; every character has a style.
fn longest_piece(rest: &str) -> (usize, Style) {
    let mut style = Style {
        bare: true,
        single: true,
        double: true,
    };
    for (index, c) in rest.char_indices() {
        let next = style.and(c, index == 0);
        if !next.is_any() {
            return (index, style);
        }
        style = next;
    }
    (rest.len(), style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_little_as_possible() {
        for (word, quoted) in [
            ("", "''"),
            ("a-b/c.d:e@f]_+1", "a-b/c.d:e@f]_+1"),
            ("a b", "'a b'"),
            ("a=b", "'a=b'"),
            ("1,5p", "'1,5p'"),
            ("it's", "\"it's\""),
            ("a\"b", "'a\"b'"),
            ("a\\b", "\"a\\\\b\""),
            ("a'b$c", "\"a'b\"'$c'"),
            ("x '$y' z", "\"x '\"'$y'\"' z\""),
            ("a^b^c", "a'^b''^c'"),
            ("it's^x", "\"it's\"'^x'"),
            ("!'", "'!'\"'\""),
            ("é", "'é'"),
            ("a\nb", "'a\nb'"),
        ] {
            assert_eq!(quote(word), quoted);
        }
        assert_eq!(quote_command(&["bash", "-lc", "ls a"]), "bash -lc 'ls a'");
    }
}
