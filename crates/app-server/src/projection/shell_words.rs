//! The words of a command as one line that a shell would read back as the same words.

pub(super) fn join(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    quoted.join(" ")
}

fn quote(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    if !word.contains('\'') {
        return format!("'{word}'");
    }
    let mut quoted = String::from("\"");
    for character in word.chars() {
        if matches!(character, '"' | '\\' | '$' | '`' | '!') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_need_it_are_quoted() {
        for (words, line) in [
            (vec!["ls", "-la", "./a"], "ls -la ./a"),
            (
                vec!["/bin/bash", "-lc", "touch made.txt"],
                "/bin/bash -lc 'touch made.txt'",
            ),
            (vec!["echo", "it's $5", ""], "echo \"it's \\$5\" ''"),
        ] {
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            assert_eq!(join(&words), line);
        }
    }
}
