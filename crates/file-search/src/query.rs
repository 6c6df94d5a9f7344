//! Matches a path against a query and computes a score.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// A parsed query.
#[derive(Clone, Debug)]
pub(crate) struct SearchQuery {
    pattern: Pattern,
    letters: LetterSet,
}

impl SearchQuery {
    pub(crate) fn new(text: &str) -> Self {
        // Capital letters are no promise that the name of a file has them.
        let pattern = Pattern::parse(text, CaseMatching::Ignore, Normalization::Smart);
        let mut letters = LetterSet::default();
        for atom in pattern.atoms.iter().filter(|atom| !atom.negative) {
            for character in atom.needle_text().chars() {
                letters.add(character);
            }
        }
        Self { pattern, letters }
    }

    /// An empty query matches nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.pattern.atoms.is_empty()
    }

    /// Whether a path with these letters can match.
    pub(crate) fn may_match(&self, letters: LetterSet) -> bool {
        self.letters.0 & !letters.0 == 0
    }
}

/// The set of letters in a text. It may contain too many letters, but never too few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LetterSet(u64);

impl LetterSet {
    /// The letters of a path. Letters beyond ASCII are represented by the full set.
    pub(crate) fn of_path(path: &str) -> Self {
        let mut letters = Self::default();
        for byte in path.bytes() {
            if !byte.is_ascii() {
                return Self(u64::MAX);
            }
            letters.0 |= Self::bit(byte);
        }
        letters
    }

    fn add(&mut self, character: char) {
        if let Ok(byte) = u8::try_from(character)
            && byte.is_ascii()
        {
            self.0 |= Self::bit(byte);
        }
    }

    fn bit(byte: u8) -> u64 {
        1 << (byte.to_ascii_lowercase() % 64)
    }
}

/// Matches paths. Expensive to create, so there is one per thread.
#[derive(Debug)]
pub(crate) struct PathScorer {
    matcher: Matcher,
    characters: Vec<char>,
}

impl PathScorer {
    pub(crate) fn new() -> Self {
        Self {
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
            characters: Vec::new(),
        }
    }

    /// The score of a path; higher is better.
    pub(crate) fn score(&mut self, query: &SearchQuery, path: &str) -> Option<u32> {
        let path = Utf32Str::new(path, &mut self.characters);
        query.pattern.score(path, &mut self.matcher)
    }

    /// The indexes of the matching characters, in order.
    pub(crate) fn indices(&mut self, query: &SearchQuery, path: &str) -> Vec<u32> {
        let mut indices = Vec::new();
        let path = Utf32Str::new(path, &mut self.characters);
        query.pattern.indices(path, &mut self.matcher, &mut indices);
        indices.sort_unstable();
        indices.dedup();
        indices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(query: &str, path: &str) -> Option<u32> {
        let query = SearchQuery::new(query);
        let score = PathScorer::new().score(&query, path);
        if score.is_some() {
            let letters = LetterSet::of_path(path);
            assert!(query.may_match(letters), "{path} is not sorted out");
        }
        score
    }

    #[test]
    fn words_and_their_operators() {
        for (query, path, expected) in [
            ("alp", "src/alpha.rs", true),
            ("srcrs", "src/alpha.rs", true),
            ("rs src", "src/alpha.rs", true),
            ("Alp", "src/alpha.rs", true),
            ("ALP", "src/alpha.rs", true),
            ("alp", "src/ALPHA.rs", true),
            ("^src", "src/alpha.rs", true),
            ("^alp", "src/alpha.rs", false),
            ("rs$", "src/alpha.rs", true),
            ("'apa", "src/alpha.rs", false),
            ("!beta", "src/alpha.rs", true),
            ("!alp", "src/alpha.rs", false),
            ("cafe", "caf\u{e9}.txt", true),
            ("caf\u{e9}", "cafe.txt", false),
            ("\\!a", "x!a", true),
        ] {
            assert_eq!(score(query, path).is_some(), expected, "{query} {path}");
        }
        assert!(SearchQuery::new("  ").is_empty());
    }

    #[test]
    fn contiguous_matches_score_higher() {
        let best_first = ["alpha.rs", "a/l/p/h/a.rs"];
        let scores = best_first.map(|path| score("alpha", path).unwrap_or(0));
        assert!(scores[0] > scores[1], "{scores:?}");
        assert!(score("alp", "src/alpha.rs") > score("alp", "src/xalpha.rs"));
    }
}
