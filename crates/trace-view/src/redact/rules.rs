//! Kinds of secrets that are known by the service that gives them out: the rules of gitleaks, as data.
//!
//! `rules/gitleaks.json` is made by `tests/trace/secret_rules.py`. A rule is tried only near one of its keywords and
//! compiled when it is first tried: most texts have none.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::Regex;
use regex::bytes::{Regex as BytesRegex, RegexBuilder};
use serde::Deserialize;

use super::random::entropy;

/// A rule is tried on so many bytes before its keyword and after it.
const BYTES_BEFORE: usize = 200;
const BYTES_AFTER: usize = 2000;

/// A compiled rule may take so many bytes.
const MAX_COMPILED: usize = 64 << 20;

/// What stands where a secret would: variables of shells and templates, and words of programs.
static PLACEHOLDER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:\$|\{\{|%[A-Za-z_]+%|<)|^(?i:true|false|null|none|undefined)$").ok()
});

static RULES: LazyLock<Option<Rules>> =
    LazyLock::new(|| Rules::read(include_str!("rules/gitleaks.json")));

#[derive(Debug, Deserialize)]
struct Rule {
    #[cfg_attr(not(test), expect(dead_code, reason = "tests name the rule"))]
    id: String,
    regex: String,
    keywords: Vec<String>,
    /// Of what is found; less is a word or an example.
    entropy: f64,
    #[serde(skip)]
    compiled: OnceLock<Option<BytesRegex>>,
}

struct Rules {
    rules: Vec<Rule>,
    keywords: AhoCorasick,
    /// The rule of each keyword.
    of_keyword: Vec<usize>,
}

/// Where a text holds secrets that a rule knows.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    RULES
        .as_ref()
        .map_or_else(Vec::new, |rules| rules.find(text))
}

impl Rules {
    fn read(json: &str) -> Option<Self> {
        let rules: Vec<Rule> = serde_json::from_str(json).ok()?;
        let keywords = rules.iter().enumerate();
        let (of_keyword, keywords): (Vec<usize>, Vec<&str>) = keywords
            .flat_map(|(at, rule)| rule.keywords.iter().map(move |word| (at, word.as_str())))
            .unzip();
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(keywords)
            .ok()?;
        Some(Self {
            rules,
            keywords,
            of_keyword,
        })
    }

    fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        // How far each rule has been tried.
        let mut tried = vec![0; self.rules.len()];
        for keyword in self.keywords.find_overlapping_iter(text) {
            let rule = self.of_keyword[keyword.pattern().as_usize()];
            if keyword.end() <= tried[rule] {
                continue;
            }
            let start = text.floor_char_boundary(keyword.start().saturating_sub(BYTES_BEFORE));
            let end = text.ceil_char_boundary((keyword.end() + BYTES_AFTER).min(text.len()));
            tried[rule] = end;
            self.rules[rule].find(&text[start..end], start, &mut found);
        }
        found
    }
}

impl Rule {
    fn compiled(&self) -> Option<&BytesRegex> {
        self.compiled
            .get_or_init(|| {
                // Secrets are ASCII, and without the classes of Unicode a rule compiles ten times faster.
                RegexBuilder::new(&self.regex)
                    .unicode(false)
                    .size_limit(MAX_COMPILED)
                    .build()
                    .ok()
            })
            .as_ref()
    }

    fn find(&self, text: &str, offset: usize, found: &mut Vec<Range<usize>>) {
        let Some(regex) = self.compiled() else {
            return;
        };
        for captures in regex.captures_iter(text.as_bytes()) {
            // The secret is the first group that took part, or all of it.
            let secret = captures
                .iter()
                .skip(1)
                .flatten()
                .find(|group| !group.is_empty());
            let Some(secret) = secret.or_else(|| captures.get(0)) else {
                continue;
            };
            let start = text.floor_char_boundary(secret.start());
            let end = text.ceil_char_boundary(secret.end());
            let secret = &text[start..end];
            let is_placeholder = PLACEHOLDER
                .as_ref()
                .is_some_and(|placeholder| placeholder.is_match(secret));
            if !is_placeholder && entropy(secret) >= self.entropy {
                found.push(offset + start..offset + end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles() {
        let rules = RULES.as_ref().unwrap();
        assert!(rules.rules.len() > 200);
        assert!(PLACEHOLDER.is_some());
        for rule in &rules.rules {
            assert!(rule.compiled().is_some(), "{}", rule.id);
        }
    }

    #[test]
    fn secret_after_a_distant_keyword_is_redacted() {
        let padding = "word ".repeat(2000);
        let text = format!("{padding}curl -u admin:q8Zr1Lx0Pw7T https://x.example/ {padding}");
        let found: Vec<&str> = find(&text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["admin:q8Zr1Lx0Pw7T"]);
        assert!(find("curl -u $USER:$PASSWORD https://x.example/").is_empty());
    }
}
