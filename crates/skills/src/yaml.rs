//! Parses YAML with limits.

use yaml_rust2::parser::Parser;
use yaml_rust2::{Event, ScanError, Yaml, YamlLoader};

/// Limit on the length of a text.
const LIMIT: usize = 64 * 1024;

/// Limit on nesting, because the library parses and drops values recursively.
const MAX_DEPTH: usize = 32;

/// Why a text is not accepted as YAML.
#[derive(Debug, thiserror::Error)]
pub(crate) enum YamlError {
    #[error("longer than {LIMIT} bytes")]
    TooLong,
    #[error("nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    #[error("aliases are not read")]
    Alias,
    #[error(transparent)]
    Syntax(#[from] ScanError),
}

/// Parses the first document of a text.
pub(crate) fn parse(text: &str) -> Result<Yaml, YamlError> {
    if text.len() > LIMIT {
        return Err(YamlError::TooLong);
    }
    check(text)?;
    let documents = YamlLoader::load_from_str(text)?;
    Ok(documents.into_iter().next().unwrap_or(Yaml::Null))
}

/// Rejects deep nesting, and aliases, which can expand to enormous values. Uses the event parser, which does not recurse.
fn check(text: &str) -> Result<(), YamlError> {
    let mut parser = Parser::new_from_str(text);
    let mut depth = 0_usize;
    loop {
        match parser.next_token()?.0 {
            Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
            Event::SequenceEnd | Event::MappingEnd => depth = depth.saturating_sub(1),
            Event::Alias(_) => return Err(YamlError::Alias),
            Event::StreamEnd => return Ok(()),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(YamlError::TooDeep);
        }
    }
}

/// A text with collapsed white space; none if it is not a scalar or is blank.
pub(crate) fn text(value: &Yaml) -> Option<String> {
    let raw = match value {
        Yaml::String(text) | Yaml::Real(text) => text.clone(),
        Yaml::Integer(number) => number.to_string(),
        Yaml::Boolean(value) => value.to_string(),
        _ => return None,
    };
    let words: Vec<&str> = raw.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_or_aliased_yaml_is_refused() {
        let work = || {
            let stairs: String = (0..300).map(|n| format!("{:n$}a:\n", "")).collect();
            let texts = ["- ", "? ", "[", "{a: ", "- a: ", "- - ? "]
                .map(|piece| piece.repeat(LIMIT / piece.len()));
            for text in texts.iter().chain([&stairs]) {
                assert!(parse(text).is_err(), "{}", &text[..12]);
            }
            let bomb: String = (1..20)
                .map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}]\n", n - 1))
                .collect();
            assert!(parse(&format!("a0: &a0 x\n{bomb}")).is_err());
            assert!(parse(&"- ".repeat(MAX_DEPTH)).is_ok());
        };
        let thread = std::thread::Builder::new().stack_size(256 * 1024);
        thread.spawn(work).unwrap().join().unwrap();
    }
}
