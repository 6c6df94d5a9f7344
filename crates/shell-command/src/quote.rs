//! Formats words as a line that a POSIX shell splits into the same words.

/// Joins the words with blanks and quotes them where needed. A zero byte, which no command line can contain, is kept,
/// because the line is for display.
pub fn quote_command<S: AsRef<str>>(words: &[S]) -> String {
    let words = || words.iter().map(AsRef::as_ref);
    let quoted = shlex::Quoter::new().allow_nul(true).join(words());
    quoted.unwrap_or_else(|_| words().collect::<Vec<_>>().join(" "))
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
            (&["a\0b", ""], "'a\0b' ''"),
        ] {
            assert_eq!(quote_command(words), line);
        }
    }
}
