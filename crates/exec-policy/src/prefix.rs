//! Prefix rules: rules for commands that begin with certain words.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::decision::Decision;

/// The justification that marks a rule which allows commands only inside the sandbox. Older versions treat it as plain
/// text.
pub const KEEPS_SANDBOX: &str = "approved for runs in the sandbox";

/// A pattern for one word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PatternToken {
    Word(String),
    /// One of several words.
    AnyOf(Vec<String>),
}

/// A decision about all commands that begin with a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RecordedRule")]
pub struct PrefixRule {
    pattern: Vec<PatternToken>,
    decision: Decision,
    justification: Option<String>,
}

/// A rule that was serialized, before it is checked.
#[derive(Deserialize)]
struct RecordedRule {
    pattern: Vec<PatternToken>,
    decision: Decision,
    justification: Option<String>,
}

impl TryFrom<RecordedRule> for PrefixRule {
    type Error = RuleProblem;

    fn try_from(rule: RecordedRule) -> Result<Self, RuleProblem> {
        Self::new(rule.pattern, rule.decision, rule.justification)
    }
}

/// Why a rule is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuleProblem {
    #[error("invalid decision: {0}")]
    Decision(String),
    #[error("invalid pattern element: {0}")]
    Pattern(String),
    #[error("invalid example: {0}")]
    Example(String),
    #[error("invalid rule: {0}")]
    Rule(String),
}

impl PatternToken {
    fn matches(&self, word: &str) -> bool {
        match self {
            Self::Word(wanted) => wanted == word,
            Self::AnyOf(words) => words.iter().any(|wanted| wanted == word),
        }
    }

    fn words(&self) -> &[String] {
        match self {
            Self::Word(word) => std::slice::from_ref(word),
            Self::AnyOf(words) => words,
        }
    }
}

impl PrefixRule {
    /// Creates a rule. Fails if the pattern or an alternative list is empty, or the justification is blank.
    pub fn new(
        pattern: Vec<PatternToken>,
        decision: Decision,
        justification: Option<String>,
    ) -> Result<Self, RuleProblem> {
        if pattern.is_empty() {
            return Err(RuleProblem::Pattern("pattern cannot be empty".to_owned()));
        }
        if pattern.iter().any(|token| token.words().is_empty()) {
            return Err(RuleProblem::Pattern(
                "a list of alternatives holds at least one".to_owned(),
            ));
        }
        check_justification(justification.as_deref())?;
        Ok(Self {
            pattern,
            decision,
            justification,
        })
    }

    pub fn decision(&self) -> Decision {
        self.decision
    }

    pub fn justification(&self) -> Option<&str> {
        self.justification.as_deref()
    }

    /// Whether the command begins with the pattern.
    pub(crate) fn matches<S: AsRef<str>>(&self, command: &[S]) -> bool {
        self.pattern.len() <= command.len()
            && self
                .pattern
                .iter()
                .zip(command)
                .all(|(token, word)| token.matches(word.as_ref()))
    }

    /// Whether a command that begins with these words, followed by unknown ones, may match.
    pub(crate) fn may_match<S: AsRef<str>>(&self, beginning: &[S]) -> bool {
        !beginning.is_empty()
            && beginning.len() < self.pattern.len()
            && (self.pattern.iter().zip(beginning))
                .all(|(token, word)| token.matches(word.as_ref()))
    }

    /// The number of words in the pattern.
    pub(crate) fn length(&self) -> usize {
        self.pattern.len()
    }

    /// Expands the alternatives of the pattern into prefixes, at most `limit`.
    pub(crate) fn prefixes(&self, limit: usize) -> Vec<Vec<&str>> {
        let mut prefixes: Vec<Vec<&str>> = vec![Vec::new()];
        for token in &self.pattern {
            prefixes = prefixes
                .iter()
                .flat_map(|prefix| {
                    token.words().iter().map(|word| {
                        let mut longer = prefix.clone();
                        longer.push(word.as_str());
                        longer
                    })
                })
                .take(limit)
                .collect();
        }
        prefixes
    }
}

/// Checks that a justification is not blank.
pub(crate) fn check_justification(justification: Option<&str>) -> Result<(), RuleProblem> {
    match justification {
        Some(text) if text.trim().is_empty() => Err(RuleProblem::Rule(
            "justification cannot be empty".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Formats a prefix for people and models: `["touch", "x"]`.
pub fn quote_prefix<S: AsRef<str>>(prefix: &[S]) -> String {
    let words: Vec<String> = prefix
        .iter()
        .map(|word| quote_string(word.as_ref()))
        .collect();
    format!("[{}]", words.join(", "))
}

/// Formats a string literal for a rules file.
pub(crate) fn quote_string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // Writing to a `String` cannot fail.
            c if c.is_control() => drop(write!(quoted, "\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
