//! Words that matter in texts.

use std::sync::LazyLock;

use regex::Regex;

/// A regular expression that is written in this program.
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        pub(super) static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
    };
}

pattern!(
    IMPORTANT,
    r"(?i)\b(error|fail(ed|ure|ures|s)?|fatal|panic(ked)?|warn(ing)?|denied|refused|exception|traceback|missing|incomplete|skipped|not found|must|do not|important|deprecated|mismatch|corrupt(ed)?|invalid|aborted)\b"
);
pattern!(
    CLAIM,
    r"(?i)\b(all (the )?tests (now )?pass|tests (now )?pass(ed)?|tests are green|everything (works|passes|is (fine|done))|succeeded|successfully|no (errors|failures)|all green|works now|is fixed)\b"
);
pattern!(
    DENIAL,
    r"(?i)(read-only file system|permission denied|operation not permitted|\bEROFS\b|\bEACCES\b|\bEPERM\b|bad system call)"
);
pattern!(
    FAILURES,
    r"(?i)\b([1-9][0-9]*) (tests? )?(failed|failures?|errors)\b|^(FAILED|FAIL)\b"
);
pattern!(
    RULE,
    r"(?i)\b(never|always|must|do not|don't|only ever|under no circumstances|make sure)\b"
);
pattern!(
    CUT,
    r"…\s*([0-9,]+) (tokens|chars|characters|bytes|lines) (truncated|omitted)[^…]*…|\[\.\.\. ?omitted ([0-9]+) of ([0-9]+) lines ?\.\.\.\]"
);
pattern!(
    LIMIT,
    r"(?i)\b(usage limit|rate limit|quota|context window|too large|fall(s|ing)? back|fallback|reconnecting|overloaded)\b"
);

pub(super) fn matches(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern
        .as_ref()
        .is_some_and(|pattern| pattern.is_match(text))
}

/// Words of rules that say nothing about what they are about.
const COMMON_WORDS: [&str; 40] = [
    "never",
    "always",
    "must",
    "only",
    "with",
    "without",
    "that",
    "this",
    "from",
    "into",
    "when",
    "what",
    "have",
    "make",
    "sure",
    "them",
    "then",
    "than",
    "your",
    "they",
    "there",
    "their",
    "before",
    "after",
    "every",
    "which",
    "while",
    "should",
    "please",
    "will",
    "would",
    "could",
    "these",
    "those",
    "about",
    "again",
    "because",
    "under",
    "circumstances",
    "don't",
];

/// The words of a text that say what it is about.
pub(super) fn subjects(text: &str) -> Vec<String> {
    let words = text.split(|char: char| !(char.is_alphanumeric() || "_-./'".contains(char)));
    let words = words.map(|word| {
        word.trim_matches(|char: char| !char.is_alphanumeric())
            .to_lowercase()
    });
    let mut subjects: Vec<String> = words
        .filter(|word| word.chars().count() >= 4 && !COMMON_WORDS.contains(&word.as_str()))
        .collect();
    subjects.sort();
    subjects.dedup();
    subjects
}

/// A text in one line, cut to a length.
pub(super) fn short(text: &str, length: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_rules_failures_and_refusals_are_recognised() {
        assert!(matches(&RULE, "Never edit generated files."));
        assert!(!matches(&RULE, "The files are generated."));
        assert!(matches(&FAILURES, "48 passed, 2 failed"));
        assert!(!matches(&FAILURES, "50 passed, 0 failed"));
        assert!(matches(
            &DENIAL,
            "touch: cannot touch 'x': Read-only file system"
        ));
        assert!(matches(&CLAIM, "All tests pass now."));
        assert!(matches(&CUT, "1\n…2,345 tokens truncated…\n9"));
    }

    #[test]
    fn subjects_are_the_distinctive_words() {
        let found = subjects("You must never edit db/schema_v2.sql with sed.");
        assert_eq!(found, ["db/schema_v2.sql", "edit"]);
    }
}
