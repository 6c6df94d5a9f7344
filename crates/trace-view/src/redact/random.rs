//! Values that look random, whatever stands beside them.
//!
//! The rule is made for few false hits: over 32 MB of sources and documents of 47 crates it takes 19 strings, of four names.
//! Random strings change between small letters, capitals and digits at every second character, names at their words.
//! Hexadecimal strings are left: nearly all of them are hashes.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Bits for each character, from which on a value is random.
const RANDOM: f64 = 4.0;

/// Of all neighbours so many are of different classes, with few digits and with more: names of programs have few.
const CHANGES_WITH_TWO_DIGITS: f64 = 0.55;
const CHANGES_WITH_MORE: f64 = 0.45;

/// A longer value is data: an image, an encrypted text.
const MAX_TOKEN_CHARS: usize = 160;

static CANDIDATES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[A-Za-z0-9+/_-]{20,}={0,2}").ok());

/// Names that are random because they are unique, and hashes.
static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^(?:call|resp|msg|rs|fc|fco|ctc|ctco|amsg|ws|ig|item|toolu|chatcmpl|req|run|thread|asst|exec)[_-]",
        r"|^sha(?:1|256|384|512)-|^(?:[A-Za-z0-9_-]*[/_-])?[0-9a-f]{32,}$",
    ))
    .ok()
});

/// Where a text holds values that look random.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let Some(candidates) = &*CANDIDATES else {
        return Vec::new();
    };
    candidates
        .find_iter(text)
        .filter(|found| is_random(found.as_str()))
        .map(|found| found.range())
        .collect()
}

fn is_random(value: &str) -> bool {
    let is_name = || NAMES.as_ref().is_some_and(|names| names.is_match(value));
    let count = |is_in: fn(&u8) -> bool| value.bytes().filter(is_in).count();
    let least_changes = match count(u8::is_ascii_digit) {
        0 | 1 => return false,
        2 => CHANGES_WITH_TWO_DIGITS,
        _ => CHANGES_WITH_MORE,
    };
    value.len() <= MAX_TOKEN_CHARS
        && changes(value) >= least_changes
        && count(u8::is_ascii_lowercase) >= 2
        && count(u8::is_ascii_uppercase) >= 2
        && entropy(value) >= RANDOM
        && !is_name()
}

/// How many neighbours of all are letters and digits of different classes.
fn changes(value: &str) -> f64 {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => Some(0),
        b'A'..=b'Z' => Some(1),
        b'0'..=b'9' => Some(2),
        _ => None,
    };
    let bytes = value.as_bytes();
    let differ = |pair: &&[u8]| match (class(pair[0]), class(pair[1])) {
        (Some(one), Some(other)) => one != other,
        _ => false,
    };
    let changes = bytes.windows(2).filter(differ).count();
    changes as f64 / (bytes.len().max(2) - 1) as f64
}

/// Shannon's measure, in bits for each character.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts: HashMap<char, f64> = HashMap::new();
    for char in text.chars() {
        *counts.entry(char).or_default() += 1.0;
    }
    let length: f64 = counts.values().sum();
    let bits = counts
        .values()
        .map(|count| -(count / length) * (count / length).log2());
    bits.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_are_found_and_names_are_not() {
        for value in [
            "wJalrXU7nFEMi/K7MDa0G/bPxRfiCY3kQ",
            "q8Zr1Lx0Pw7TkV3nB6yHs9Ju",
            "9fK2xQm7Zp1vTe4RbW8cYd3L",
        ] {
            assert!(is_random(value), "{value}");
        }
        for value in [
            "call_9fK2xQm7Zp1vTe4RbW8cYd3L",
            "0196f1c2-7f04-7d63-9f40-5b1f0d6b0f1e",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "getElementsByClassNameAndId2",
            "crates/rollout-trace/src/reduce/V2Conversation",
            "FOO_BAR_BAZ_1_QUX_2_quux",
            "sha512-Zp1vTe4RbW8cYd3L9fK2xQm7q8Zr1Lx0Pw7TkV3nB6yHs9Ju",
        ] {
            assert!(!is_random(value), "{value}");
        }
    }
}
