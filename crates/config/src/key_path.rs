//! Key paths: the names from the root table down to a setting.
//!
//! In text form names are joined by dots, and a name that contains a dot is quoted as in TOML. Unquoted names may contain
//! any other character, so `projects./a/b` needs no quotes. Empty names are rejected.

use std::fmt;

use crate::nesting::MAX_DEPTH;

/// A non-empty key path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyPath(Vec<String>);

/// Why a text is not a key path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyPathError {
    /// The text is empty.
    #[error("keyPath must not be empty")]
    Empty,
    /// A name is empty.
    #[error("keyPath `{0}` has an empty segment")]
    EmptySegment(String),
    /// A quote is not closed, or is not followed by a dot.
    #[error("keyPath `{0}` has a malformed quoted segment")]
    Quote(String),
    /// The path has more names than settings may be nested.
    #[error("keyPath has more than {MAX_DEPTH} segments")]
    TooLong,
}

impl KeyPath {
    /// Parses the text form.
    pub fn parse(text: &str) -> Result<Self, KeyPathError> {
        if text.is_empty() {
            return Err(KeyPathError::Empty);
        }
        let mut segments = Vec::new();
        let mut rest = Some(text);
        while let Some(input) = rest {
            let (segment, after) = match input.chars().next() {
                Some(quote @ ('"' | '\'')) => quoted_segment(input, quote)
                    .ok_or_else(|| KeyPathError::Quote(text.to_owned()))?,
                _ => bare_segment(input),
            };
            if segment.is_empty() {
                return Err(KeyPathError::EmptySegment(text.to_owned()));
            }
            if segments.len() == MAX_DEPTH {
                return Err(KeyPathError::TooLong);
            }
            segments.push(segment);
            rest = after;
        }
        Ok(Self(segments))
    }

    /// A path from separate names; `None` if there are none.
    pub fn from_segments<S: Into<String>>(segments: impl IntoIterator<Item = S>) -> Option<Self> {
        let segments: Vec<String> = segments.into_iter().map(Into::into).collect();
        (!segments.is_empty()).then_some(Self(segments))
    }

    /// The names, from the root down.
    pub fn segments(&self) -> &[String] {
        &self.0
    }
}

fn bare_segment(input: &str) -> (String, Option<&str>) {
    match input.split_once('.') {
        Some((segment, after)) => (segment.to_owned(), Some(after)),
        None => (input.to_owned(), None),
    }
}

fn quoted_segment(input: &str, quote: char) -> Option<(String, Option<&str>)> {
    let mut escaped = false;
    let end = input.char_indices().skip(1).find_map(|(at, c)| {
        let closes = c == quote && !escaped;
        escaped = quote == '"' && c == '\\' && !escaped;
        closes.then_some(at + c.len_utf8())
    })?;
    let toml::Value::String(segment) = input.get(..end)?.parse().ok()? else {
        return None;
    };
    let after = input.get(end..)?;
    if after.is_empty() {
        return Some((segment, None));
    }
    Some((segment, Some(after.strip_prefix('.')?)))
}

/// Writes one name, quoted if needed.
pub(crate) fn write_segment(segment: &str, out: &mut impl fmt::Write) -> fmt::Result {
    let bare = !segment.is_empty()
        && segment
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare {
        return out.write_str(segment);
    }
    out.write_char('"')?;
    for c in segment.chars() {
        match c {
            '"' | '\\' => write!(out, "\\{c}")?,
            c if c.is_control() => write!(out, "\\u{:04X}", u32::from(c))?,
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(".")?;
            }
            write_segment(segment, f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let path = KeyPath::parse(text).unwrap();
        assert_eq!(path.segments(), expected);
        assert_eq!(KeyPath::parse(&path.to_string()).unwrap(), path);
    }

    #[test]
    fn names_split_at_dots_outside_of_quotes() {
        check("model", &["model"]);
        check("a.b-c.d_e", &["a", "b-c", "d_e"]);
        check(
            r#"projects."/a.b".trust_level"#,
            &["projects", "/a.b", "trust_level"],
        );
        check(
            "projects.'/a.b'.trust_level",
            &["projects", "/a.b", "trust_level"],
        );
        check(r#"a."q\"x\\".b"#, &["a", "q\"x\\", "b"]);
        check(
            "projects./a/b.trust_level",
            &["projects", "/a/b", "trust_level"],
        );
        check("a b.c", &["a b", "c"]);
        check("it's.fine", &["it's", "fine"]);
    }

    #[test]
    fn invalid_key_path_is_refused() {
        assert_eq!(KeyPath::parse(""), Err(KeyPathError::Empty));
        for text in [".", "a.", ".a", "a..b", "a.\"\".b"] {
            assert_eq!(
                KeyPath::parse(text),
                Err(KeyPathError::EmptySegment(text.to_owned())),
            );
        }
        for text in ["\"a", "a.\"b\"c", "'x", "\"\\q\""] {
            assert_eq!(
                KeyPath::parse(text),
                Err(KeyPathError::Quote(text.to_owned()))
            );
        }
        let longest = ["a"; MAX_DEPTH].join(".");
        assert!(KeyPath::parse(&longest).is_ok());
        let longer = format!("{longest}.a");
        assert_eq!(KeyPath::parse(&longer), Err(KeyPathError::TooLong));
    }
}
