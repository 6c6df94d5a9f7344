//! Formats words as a line that a POSIX shell splits into the same words.

use std::fmt::Write as _;

use codex_visible_text::script_hides;

/// Joins the words with blanks and quotes them where needed. A zero byte, which no command line can contain, is kept,
/// because the line is for display.
pub fn quote_command<S: AsRef<str>>(words: &[S]) -> String {
    let words = || words.iter().map(AsRef::as_ref);
    let quoted = shlex::Quoter::new().allow_nul(true).join(words());
    quoted.unwrap_or_else(|_| words().collect::<Vec<_>>().join(" "))
}

/// Like [`quote_command`], for people who decide about the command: a word with characters that do not show, or with
/// long runs of blanks, is written as `$'…'` with escapes, as bash and zsh read it.
pub fn visible_command<S: AsRef<str>>(words: &[S]) -> String {
    let shown = words.iter().map(|word| match word.as_ref() {
        word if script_hides(word) => escaped_word(word),
        word => quote_command(&[word]),
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// Splits what [`visible_command`] wrote. `None` if the line was not written by it.
pub fn split_command(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix("$'") {
            Some(escaped) => read_escaped_word(escaped)?,
            None => {
                let (word, after) = rest.split_at(end_of_word(rest));
                let [word] = <[String; 1]>::try_from(shlex::split(word)?).ok()?;
                (word, after)
            }
        };
        words.push(word);
        rest = match after.strip_prefix(' ') {
            Some(next) if !next.is_empty() => next,
            None if after.is_empty() => break,
            _ => return None,
        };
    }
    Some(words)
}

/// Where the first word of a line ends, which may be quoted.
fn end_of_word(line: &str) -> usize {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, ' ') => return at,
            _ => {}
        }
    }
    line.len()
}

fn escaped_word(word: &str) -> String {
    let is_long_run = |run: &str| script_hides(run);
    let mut shown = String::from("$'");
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let after = rest.trim_start_matches(first);
        let run = &rest[..rest.len() - after.len()];
        let hides = is_long_run(run);
        for c in run.chars() {
            // Writing to a string does not fail.
            let _ = match (c, u32::from(c)) {
                ('\n', _) => write!(shown, "\\n"),
                ('\t', _) => write!(shown, "\\t"),
                ('\\' | '\'', _) => write!(shown, "\\{c}"),
                (_, code) if hides && code < 0x80 => write!(shown, "\\x{code:02x}"),
                (_, code) if hides && code <= 0xffff => write!(shown, "\\u{code:04x}"),
                (_, code) if hides => write!(shown, "\\U{code:08x}"),
                _ => write!(shown, "{c}"),
            };
        }
        rest = after;
    }
    shown.push('\'');
    shown
}

/// Reads a word after `$'`. Returns also what follows it.
fn read_escaped_word(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => return Some((word, &text[at + 1..])),
            '\\' => {
                let (at, kind) = chars.next()?;
                let digits = match kind {
                    'n' => {
                        word.push('\n');
                        continue;
                    }
                    't' => {
                        word.push('\t');
                        continue;
                    }
                    '\\' | '\'' => {
                        word.push(kind);
                        continue;
                    }
                    'x' => 2,
                    'u' => 4,
                    'U' => 8,
                    _ => return None,
                };
                let code = text.get(at + 1..at + 1 + digits)?;
                word.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
                chars.nth(digits - 1)?;
            }
            c => word.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_clients_know_it() {
        for (words, line) in [
            (&["bash", "-lc", "ls a"][..], "bash -lc 'ls a'"),
            (&["echo", "a=b"], "echo 'a=b'"),
            (&["echo", "it's $5"], "echo \"it's \"'$5'"),
            (&["cat", "a\n\tb"], "cat 'a\n\tb'"),
            (&["é", ""], "'é' ''"),
        ] {
            assert_eq!(quote_command(words), line);
            assert_eq!(visible_command(words), line);
            assert_eq!(split_command(line).as_deref(), Some(&words.map_owned()[..]));
        }
        assert_eq!(quote_command(&["a\0b", ""]), "'a\0b' ''");
    }

    #[test]
    fn invisible_characters_of_words_are_escaped() {
        for (words, line) in [
            (
                &["bash", "-lc", "ls\u{202e}\nit's"][..],
                r"bash -lc $'ls\u202e\nit\'s'",
            ),
            (&["\u{1b}[2K\\", "a"], r"$'\x1b[2K\\' a"),
            (&["a\0\u{e0041}b"], r"$'a\x00\U000e0041b'"),
        ] {
            assert_eq!(visible_command(words), line);
            assert_eq!(split_command(line).as_deref(), Some(&words.map_owned()[..]));
        }
        let hidden = format!("ls{}rm x", " ".repeat(40));
        let line = visible_command(&["sh", "-c", &hidden]);
        assert_eq!(line, format!("sh -c $'ls{}rm x'", r"\x20".repeat(40)));
        assert_eq!(
            split_command(&line).unwrap_or_default().last(),
            Some(&hidden)
        );
    }

    #[test]
    fn other_lines_are_not_split() {
        for line in [
            "$'a",
            "$'\\q'",
            "$'\\x1'",
            "$'a'b",
            "a  b",
            "a ",
            "'a",
            "$'\\ud800'",
        ] {
            assert_eq!(split_command(line), None, "{line}");
        }
    }

    trait MapOwned {
        fn map_owned(&self) -> Vec<String>;
    }

    impl MapOwned for [&str] {
        fn map_owned(&self) -> Vec<String> {
            self.iter().map(ToString::to_string).collect()
        }
    }
}
