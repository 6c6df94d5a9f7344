//! Which lines of a rollout can have a match, told from their bytes, so that the others need not be parsed.
//!
//! Words of plain letters and digits are stored as they are. A line without one of them has no match.

use aho_corasick::AhoCorasick;

use crate::SearchTerm;

/// The number of words that are looked for. The longest ones select best.
const MOST_WORDS: usize = 4;
/// Letters outside of ASCII whose small forms begin with one: the Kelvin sign, and an I with a dot.
const ODD_LETTERS: [&str; 2] = ["\u{212A}", "\u{130}"];

/// A filter for lines.
#[derive(Clone, Debug)]
pub struct LineFilter {
    /// A finder for each word.
    words: Vec<AhoCorasick>,
    odd_letters: AhoCorasick,
}

impl LineFilter {
    /// None if every line can have a match.
    #[must_use]
    pub fn for_term(term: &SearchTerm) -> Option<Self> {
        let mut words: Vec<&str> = term
            .as_str()
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .filter(|word| word.len() > 1)
            .collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        words.dedup();
        words.truncate(MOST_WORDS);
        let finder = |words: &[&str]| {
            let mut builder = AhoCorasick::builder();
            builder.ascii_case_insensitive(true).build(words).ok()
        };
        let finders: Option<Vec<_>> = words.iter().map(|word| finder(&[word])).collect();
        Some(Self {
            words: finders.filter(|finders| !finders.is_empty())?,
            odd_letters: finder(&ODD_LETTERS)?,
        })
    }

    /// Whether a line can have a match.
    #[must_use]
    pub fn may_match(&self, line: &[u8]) -> bool {
        self.words.iter().all(|word| word.is_match(line)) || self.odd_letters.is_match(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(term: &str, text: &str, expected: bool) {
        let term = SearchTerm::parse(term).unwrap();
        let line = serde_json::to_string(text).unwrap();
        let filter = LineFilter::for_term(&term).unwrap();
        assert_eq!(
            filter.may_match(line.as_bytes()),
            expected,
            "{term:?} in {line}"
        );
        let matches = !term.matches(text).is_empty();
        assert!(expected || !matches, "{term:?} in {line}");
    }

    #[test]
    fn lines_without_search_words_are_skipped() {
        check("Message 47", "a MESSAGE  47 b", true);
        check("message 47", "message\n47", true);
        check("message 47", "message 4", false);
        check("message 47", "47 of a message", true);
        check("\"quoted\" a\\b naïve", "say \"Quoted\"  A\\B NAÏVE", true);
        check("kind", "\u{212A}ind", true);
        check("kind", "ind", false);
    }

    #[test]
    fn a_term_without_plain_words_selects_nothing() {
        for term in ["é", "x", "- -", "日本"] {
            assert!(
                LineFilter::for_term(&SearchTerm::parse(term).unwrap()).is_none(),
                "{term}"
            );
        }
    }
}
