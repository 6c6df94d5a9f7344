//! Parses a `.env` file: lines `NAME=value`, with an optional `export` before the name.
//!
//! Only parses: the process that starts decides what to do with the variables.

/// The variables of a `.env` file in order. Skips invalid lines, and names that begin with `CODEX_`: a file must not
/// change where the program finds its own files and keys.
pub fn parse_dotenv(text: &str) -> Vec<(String, String)> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let mut characters = name.chars();
    let valid = characters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    if !valid || name.to_ascii_uppercase().starts_with("CODEX_") {
        return None;
    }
    Some((name.to_owned(), parse_value(value.trim())?))
}

fn parse_value(value: &str) -> Option<String> {
    match value.chars().next() {
        Some('\'') => {
            let (inside, _) = value.get(1..)?.split_once('\'')?;
            Some(inside.to_owned())
        }
        Some('"') => double_quoted(value.get(1..)?),
        _ => {
            let end = value.find(" #").unwrap_or(value.len());
            Some(value.get(..end)?.trim_end().to_owned())
        }
    }
}

fn double_quoted(value: &str) -> Option<String> {
    let mut result = String::new();
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        match c {
            '"' => return Some(result),
            '\\' => match characters.next()? {
                'n' => result.push('\n'),
                'r' => result.push('\r'),
                't' => result.push('\t'),
                other => result.push(other),
            },
            other => result.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_variables() {
        let text = r#"
# comment
A=1
export B = two words # comment
C='single # quoted\n'
D="a\nb\"c" # after
E=
F#=x
CODEX_HOME=/elsewhere
codex_x=1
no equals sign
=3
G="open
"#;
        let expected = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "single # quoted\\n"),
            ("D", "a\nb\"c"),
            ("E", ""),
        ];
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        assert_eq!(parse_dotenv(text), expected);
    }
}
