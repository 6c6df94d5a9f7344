//! Finds positions in the text of a settings file, as lines and columns counted from one. Columns count characters.

use std::ops::Range;

use serde_path_to_error::{Path, Segment};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// The line, from one.
    pub line: usize,
    /// The column in characters, from one.
    pub column: usize,
}

/// A range of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextRange {
    /// The first character.
    pub start: TextPosition,
    /// The last character.
    pub end: TextPosition,
}

/// Converts a byte span.
pub(crate) fn range_of(text: &str, span: Range<usize>) -> TextRange {
    let start = span.start;
    let piece = text.get(span).unwrap_or_default();
    let last = piece.char_indices().next_back().map_or(0, |(at, _)| at);
    TextRange {
        start: position_of(text, start),
        end: position_of(text, start + last),
    }
}

fn position_of(text: &str, byte: usize) -> TextPosition {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    let before = text.get(..byte).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    TextPosition {
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
    }
}

/// The range of the value at a key path, or of the closest enclosing table in the text.
pub(crate) fn find(text: &str, path: &Path) -> Option<TextRange> {
    let root = DeTable::parse(text).ok()?;
    let segments: Vec<&Segment> = path.iter().collect();
    let span = find_in_table(root.get_ref(), &segments)?;
    Some(range_of(text, span))
}

/// The range of a key in the text; that of the closest array around it if it is in one.
pub(crate) fn find_key(text: &str, names: &[String]) -> Option<TextRange> {
    let root = DeTable::parse(text).ok()?;
    let span = key_in_table(root.get_ref(), names)?;
    Some(range_of(text, span))
}

fn key_in_table(table: &DeTable<'_>, names: &[String]) -> Option<Range<usize>> {
    let (first, rest) = names.split_first()?;
    let (name, value) = table
        .iter()
        .find(|(name, _)| name.get_ref().as_ref() == first.as_str())?;
    if rest.is_empty() {
        return Some(name.span());
    }
    Some(key_in_value(value, rest).unwrap_or_else(|| name.span()))
}

fn key_in_value(value: &Spanned<DeValue<'_>>, names: &[String]) -> Option<Range<usize>> {
    match (value.get_ref(), names) {
        (DeValue::Table(table), names) => key_in_table(table, names),
        (DeValue::Array(items), [index, rest @ ..]) => {
            let item = items.get(index.parse::<usize>().ok()?)?;
            Some(key_in_value(item, rest).unwrap_or_else(|| item.span()))
        }
        _ => None,
    }
}

fn find_in_table(table: &DeTable<'_>, path: &[&Segment]) -> Option<Range<usize>> {
    let (first, rest) = path.split_first()?;
    let key = match first {
        Segment::Map { key } => key,
        Segment::Enum { variant } => variant,
        Segment::Seq { .. } | Segment::Unknown => return None,
    };
    let (name, value) = table
        .iter()
        .find(|(name, _)| name.get_ref().as_ref() == key.as_str())?;
    // The span of a table with a header is not useful, so its name is used.
    let own = match value.get_ref() {
        DeValue::Table(_) => name.span(),
        _ => value.span(),
    };
    Some(find_in_value(value, rest).unwrap_or(own))
}

fn find_in_value(value: &Spanned<DeValue<'_>>, path: &[&Segment]) -> Option<Range<usize>> {
    match (value.get_ref(), path) {
        (DeValue::Table(table), path) => find_in_table(table, path),
        (DeValue::Array(items), [Segment::Seq { index }, rest @ ..]) => {
            let item = items.get(*index)?;
            Some(find_in_value(item, rest).unwrap_or_else(|| item.span()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters() {
        let text = "a = 'ä'\nb = 'öx' # c\n";
        let start = text.find("'öx'").unwrap();
        let range = range_of(text, start..start + "'öx'".len());
        assert_eq!(range.start, TextPosition { line: 2, column: 5 });
        assert_eq!(range.end, TextPosition { line: 2, column: 8 });
    }

    #[test]
    fn places_outside_of_the_text_are_at_its_end() {
        let range = range_of("ab", 7..9);
        assert_eq!(range.start, TextPosition { line: 1, column: 3 });
        assert_eq!(range.end, range.start);
    }
}
