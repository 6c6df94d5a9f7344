//! Ranks texts by how well they fit a query: BM25 over words, without regard to case, camel case and plural.

use std::collections::HashMap;

/// How fast further occurrences of a word count less.
const SATURATION: f64 = 1.2;
/// How much the length of a text counts.
const LENGTH_WEIGHT: f64 = 0.75;

/// Texts that can be searched.
#[derive(Debug, Default)]
pub struct TextIndex {
    /// For each word the texts that have it, and how often.
    texts_of_word: HashMap<String, Vec<(usize, f64)>>,
    /// The number of words of each text.
    lengths: Vec<f64>,
}

impl TextIndex {
    /// An index over these texts, which are known by their positions.
    pub fn new<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut index = Self::default();
        for (position, text) in texts.into_iter().enumerate() {
            let mut counts: HashMap<String, f64> = HashMap::new();
            let mut length = 0.0;
            for word in words(text.as_ref()) {
                *counts.entry(word).or_default() += 1.0;
                length += 1.0;
            }
            for (word, count) in counts {
                let texts = index.texts_of_word.entry(word).or_default();
                texts.push((position, count));
            }
            index.lengths.push(length);
        }
        index
    }

    /// The positions of the texts that fit best, the best first. A text without a word of the query is not among them.
    #[must_use]
    pub fn best(&self, query: &str, limit: usize) -> Vec<usize> {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52 texts")]
        let count = self.lengths.len() as f64;
        let average = self.lengths.iter().sum::<f64>() / count.max(1.0);
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for word in words(query) {
            let Some(texts) = self.texts_of_word.get(&word) else {
                continue;
            };
            #[expect(clippy::cast_precision_loss, reason = "far below 2^52 texts")]
            let known = texts.len() as f64;
            let rarity = (1.0 + (count - known + 0.5) / (known + 0.5)).ln();
            for (position, occurrences) in texts {
                let length = self.lengths[*position] / average.max(1.0);
                let damping = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length);
                let score = rarity * occurrences * (SATURATION + 1.0) / (occurrences + damping);
                *scores.entry(*position).or_default() += score;
            }
        }
        let mut ranked: Vec<_> = scores.into_iter().collect();
        ranked.sort_by(|(one, score), (other, other_score)| {
            other_score.total_cmp(score).then(one.cmp(other))
        });
        ranked.truncate(limit);
        ranked.into_iter().map(|(position, _)| position).collect()
    }
}

/// The words of a text, in lower case and without the `s` of a plural.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut separated = String::with_capacity(text.len() + 8);
    let mut was_lower = false;
    for letter in text.chars() {
        if !letter.is_alphanumeric() {
            separated.push(' ');
        } else {
            if letter.is_uppercase() && was_lower {
                separated.push(' ');
            }
            separated.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    let words: Vec<String> = separated.split_whitespace().map(singular).collect();
    words.into_iter()
}

fn singular(word: &str) -> String {
    let stem = word.strip_suffix('s').filter(|stem| stem.len() > 2);
    let stem = stem.filter(|stem| !stem.ends_with('s'));
    stem.unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, expected: &[usize]) {
        let texts = [
            "mail_send Sends a letter to somebody. recipient subject",
            "mail_list Lists letters of a folder",
            "calendar_createEvent Creates an event in a calendar",
            "calendar_list Lists the events of a day, and of other days, and whose they are",
            "class boss",
        ];
        let index = TextIndex::new(texts);
        assert_eq!(index.best(query, 3), expected, "{query}");
    }

    #[test]
    fn rare_words_and_short_texts_count_more() {
        check("send", &[0]);
        check("sends", &[0]);
        check("Letter", &[1, 0]);
        check("EVENTS", &[2, 3]);
        check("create event", &[2, 3]);
        check("list calendar", &[3, 1, 2]);
        check("class", &[4]);
        check("", &[]);
        check("?!", &[]);
        assert!(TextIndex::new([""; 3]).best("word", 8).is_empty());
        assert!(TextIndex::default().best("word", 8).is_empty());
    }
}
