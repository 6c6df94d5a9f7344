//! Splitting an example command into words as a POSIX shell would, without expanding anything.

/// The words of a line; `None` if a quote is not closed.
pub(crate) fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if matches!(c, ' ' | '\t' | '\n') {
            words.extend(word.take());
            continue;
        }
        let text = word.get_or_insert_default();
        match c {
            '\\' => match chars.next()? {
                '\n' => {}
                escaped => text.push(escaped),
            },
            '\'' => loop {
                match chars.next()? {
                    '\'' => break,
                    c => text.push(c),
                }
            },
            '"' => loop {
                match chars.next()? {
                    '"' => break,
                    '\\' => match chars.next()? {
                        '\n' => {}
                        escaped @ ('$' | '`' | '"' | '\\') => text.push(escaped),
                        other => text.extend(['\\', other]),
                    },
                    c => text.push(c),
                }
            },
            c => text.push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_are_split_as_a_shell_does() {
        for (line, words) in [
            ("", &[][..]),
            (" git  push ", &["git", "push"]),
            ("a 'b c' \"d e\"f", &["a", "b c", "d ef"]),
            ("a\\ b '' \"\\\"\\n\"", &["a b", "", "\"\\n"]),
            ("a\\\nb", &["ab"]),
        ] {
            assert_eq!(
                split(line).as_deref(),
                Some(&words.iter().map(ToString::to_string).collect::<Vec<_>>()[..])
            );
        }
        for line in ["'a", "\"a", "a\\"] {
            assert_eq!(split(line), None);
        }
    }
}
