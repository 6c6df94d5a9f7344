//! A search term: where it is in a text, and what is shown around it.
//!
//! Case does not matter, and any run of white space counts as one blank. A term is compared with texts in that form only,
//! also by the index ([`SearchTerm::form`]).

use std::ops::Range;

/// How many characters a snippet shows before and after the match.
const CHARS_BEFORE: usize = 49;
const CHARS_AFTER: usize = 96;
/// Shown where a snippet leaves text out.
const LEFT_OUT: &str = "...";
/// The length of the pieces that the index knows texts by.
pub(crate) const GRAM: usize = 3;
/// The most pieces of a term that are looked up. More of them hardly select better.
const MOST_GRAMS: usize = 24;

/// What to look for; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchTerm(String);

/// A match, with the text around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextMatch {
    pub snippet: String,
    /// Where the match is in the snippet, in UTF-16 units.
    pub range: Range<u32>,
}

impl SearchTerm {
    /// None if there is nothing to look for.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let form = Self::form(text);
        (!form.is_empty()).then_some(Self(form))
    }

    /// The term in the form in which it is compared.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The form in which texts are compared.
    pub(crate) fn form(text: &str) -> String {
        let mut form = String::with_capacity(text.len());
        for word in text.split_whitespace() {
            if !form.is_empty() {
                form.push(' ');
            }
            form.extend(word.chars().flat_map(char::to_lowercase));
        }
        form
    }

    /// A query for texts that have all pieces of the term; none if the term is shorter than a piece.
    pub(crate) fn grams(&self) -> Option<String> {
        let ends = self.0.char_indices().map(|(at, _)| at);
        let bounds: Vec<usize> = ends.chain([self.0.len()]).collect();
        let pieces = bounds.windows(GRAM + 1).map(|at| &self.0[at[0]..at[GRAM]]);
        let quoted = pieces.take(MOST_GRAMS);
        let quoted: Vec<String> = quoted
            .map(|piece| format!("\"{}\"", piece.replace('"', "\"\"")))
            .collect();
        (!quoted.is_empty()).then(|| quoted.join(" AND "))
    }

    /// The text around the first match; none if there is no match.
    #[must_use]
    pub fn snippet(&self, text: &str) -> Option<String> {
        if !Self::form(text).contains(&self.0) {
            return None;
        }
        let shown = ShownText::in_one_line(text);
        let found = shown.matches(&self.0).next()?;
        let (window, is_begun, goes_on) = shown.around(&found);
        let window: String = window.iter().collect();
        let begin = if is_begun { "... " } else { "" };
        let end = if goes_on { " ..." } else { "" };
        Some(format!("{begin}{}{end}", window.trim()))
    }

    /// All matches that do not overlap, in their order.
    #[must_use]
    pub fn matches(&self, text: &str) -> Vec<TextMatch> {
        if !Self::form(text).contains(&self.0) {
            return Vec::new();
        }
        self.matches_as_written(&in_one_line(text))
    }

    /// The same with the white space of the text, which counts.
    #[must_use]
    pub fn matches_as_written(&self, text: &str) -> Vec<TextMatch> {
        let shown = ShownText::from_text(text);
        let found = shown.matches(&self.0);
        found.map(|range| shown.match_at(&range)).collect()
    }
}

/// A text with single blanks.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text as it is shown: with its case.
struct ShownText {
    chars: Vec<char>,
    form: String,
    /// Where each character begins in `form`.
    starts: Vec<usize>,
}

impl ShownText {
    fn in_one_line(text: &str) -> Self {
        Self::from_text(&in_one_line(text))
    }

    fn from_text(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let (mut form, mut starts) = (String::new(), Vec::with_capacity(chars.len()));
        for letter in &chars {
            starts.push(form.len());
            form.extend(letter.to_lowercase());
        }
        Self {
            chars,
            form,
            starts,
        }
    }

    /// The matches, as ranges of characters.
    fn matches<'a>(&'a self, term: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        self.form.match_indices(term).map(|(at, found)| {
            let first = self.starts.partition_point(|start| *start <= at) - 1;
            let end = at + found.len();
            first..self.starts.partition_point(|start| *start < end)
        })
    }

    /// What is shown around a match, and whether text is left out before and after it.
    fn around(&self, found: &Range<usize>) -> (&[char], bool, bool) {
        let begin = found.start.saturating_sub(CHARS_BEFORE);
        let end = (found.end + CHARS_AFTER).min(self.chars.len());
        (&self.chars[begin..end], begin > 0, end < self.chars.len())
    }

    fn match_at(&self, found: &Range<usize>) -> TextMatch {
        let (window, is_begun, goes_on) = self.around(found);
        let mut snippet = String::new();
        if is_begun {
            snippet.push_str(LEFT_OUT);
            snippet.push(' ');
        }
        let before = found.start.min(CHARS_BEFORE);
        let length = |chars: &[char]| chars.iter().map(|one| one.len_utf16()).sum::<usize>();
        let start = snippet.len() + length(&window[..before]);
        let end = start + length(&self.chars[found.clone()]);
        snippet.extend(window);
        if goes_on {
            snippet.push(' ');
            snippet.push_str(LEFT_OUT);
        }
        let unit = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        TextMatch {
            snippet,
            range: unit(start)..unit(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(text: &str) -> SearchTerm {
        SearchTerm::parse(text).unwrap()
    }

    #[test]
    fn neither_case_nor_line_breaks_matter() {
        assert_eq!(SearchTerm::parse(" \n"), None);
        let text = "Short\n  ÄNSWER here";
        assert_eq!(
            term("short änswer").snippet(text).unwrap(),
            "Short ÄNSWER here"
        );
        assert_eq!(term("short  Änswer").matches(text)[0].range, 0..12);
        assert_eq!(term("nothing").snippet(text), None);
        let written = term("änswer").matches_as_written(text);
        assert_eq!(
            (&*written[0].snippet, written[0].range.clone()),
            (text, 8..14)
        );
        assert_eq!(term("short änswer").matches_as_written(text), []);
    }

    #[test]
    fn ranges_count_utf16_units() {
        let found = term("needle").matches("😀 needle, İ and NEEDLE");
        let ranges: Vec<_> = found.iter().map(|one| one.range.clone()).collect();
        assert_eq!(ranges, [3..9, 17..23]);
    }

    #[test]
    fn long_texts_are_cut_on_both_sides() {
        let long = "The quick brown fox ".repeat(30);
        let text = format!("{long}NEEDLE here {long}");
        let found = &term("needle").matches(&text)[0];
        let (begin, end) = ("... rown fox The", "fox The quick  ...");
        assert!(
            found.snippet.starts_with(begin) && found.snippet.ends_with(end),
            "{found:?}"
        );
        assert_eq!(found.range, 53..59);
        let snippet = term("needle").snippet(&text).unwrap();
        assert!(snippet.ends_with("fox The quick ..."), "{snippet}");
    }

    #[test]
    fn a_query_has_every_piece_of_the_term() {
        assert_eq!(term("ab").grams(), None);
        assert_eq!(term("A\"bc").grams().unwrap(), "\"a\"\"b\" AND \"\"\"bc\"");
    }
}
