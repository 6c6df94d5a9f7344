//! Shortens a command line for people: the script, without the shell that runs it.

/// The script of `SHELL -lc SCRIPT`; otherwise the line as it is.
pub(crate) fn script(line: &str) -> String {
    match words(line).as_deref() {
        Some([_, flag, script]) if flag == "-lc" || flag == "-c" => script.clone(),
        _ => line.to_owned(),
    }
}

/// The words of a line that was quoted for a shell; none if a quote does not end.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut characters = line.chars().peekable();
    while characters.peek().is_some() {
        let mut word = String::new();
        while let Some(character) = characters.next() {
            match character {
                ' ' => break,
                '\'' => loop {
                    match characters.next()? {
                        '\'' => break,
                        character => word.push(character),
                    }
                },
                '"' => loop {
                    match characters.next()? {
                        '"' => break,
                        '\\' => word.push(characters.next()?),
                        character => word.push(character),
                    }
                },
                '\\' => word.push(characters.next()?),
                character => word.push(character),
            }
        }
        words.push(word);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_is_left_out() {
        for (line, expected) in [
            ("/bin/bash -lc 'ls -l; pwd'", "ls -l; pwd"),
            ("bash -lc \"echo \\\"it's\\\"\"", "echo \"it's\""),
            ("/bin/zsh -lc ls", "ls"),
            ("ls -lc x y", "ls -lc x y"),
            ("sh -c 'open", "sh -c 'open"),
        ] {
            assert_eq!(script(line), expected);
        }
    }
}
