//! Rules for commands in requirements. They can only restrict, never allow.

use serde::Deserialize;

/// `[rules]` of requirements.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct RulesFile {
    prefix_rules: Vec<PrefixRuleForm>,
}

#[derive(Clone, Debug, Deserialize)]
struct PrefixRuleForm {
    pattern: Vec<PatternTokenForm>,
    decision: Option<DecisionForm>,
    justification: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct PatternTokenForm {
    token: Option<String>,
    any_of: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DecisionForm {
    Allow,
    Prompt,
    Forbidden,
}

/// A rule for commands that begin with certain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixRule {
    /// The words; never empty.
    pub pattern: Vec<PatternToken>,
    /// What happens to such a command.
    pub decision: RuleDecision,
    /// The reason, shown to the user.
    pub justification: Option<String>,
}

/// One word of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternToken {
    /// This word.
    Single(String),
    /// One of these words; never empty.
    AnyOf(Vec<String>),
}

/// What happens to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleDecision {
    /// An approval is needed.
    Prompt,
    /// The command is refused.
    Forbidden,
}

impl RulesFile {
    pub(super) fn into_rules(self) -> Result<Vec<PrefixRule>, RulesError> {
        if self.prefix_rules.is_empty() {
            return Err(RulesError::NoRules);
        }
        let rules = self.prefix_rules.into_iter().enumerate();
        rules
            .map(|(index, rule)| {
                let at_index = |error| RulesError::Rule { index, error };
                rule.into_rule().map_err(at_index)
            })
            .collect()
    }
}

/// Why the rules of a requirements file are invalid.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    #[error("prefix_rules cannot be empty")]
    NoRules,
    #[error("rule {index}: {error}")]
    Rule {
        /// Counted from 0.
        index: usize,
        error: PrefixRuleError,
    },
}

/// Why one rule is invalid.
#[derive(Debug, thiserror::Error)]
pub enum PrefixRuleError {
    #[error("pattern cannot be empty")]
    EmptyPattern,
    #[error("decision `allow` is not permitted in requirements")]
    Allow,
    #[error("missing decision")]
    NoDecision,
    #[error("justification cannot be empty")]
    EmptyJustification,
    #[error("pattern words cannot be empty")]
    EmptyWord,
    #[error("a pattern element must have either `token` or `any_of`")]
    PatternElement,
}

impl PrefixRuleForm {
    fn into_rule(self) -> Result<PrefixRule, PrefixRuleError> {
        if self.pattern.is_empty() {
            return Err(PrefixRuleError::EmptyPattern);
        }
        let decision = match self.decision {
            Some(DecisionForm::Prompt) => RuleDecision::Prompt,
            Some(DecisionForm::Forbidden) => RuleDecision::Forbidden,
            Some(DecisionForm::Allow) => {
                return Err(PrefixRuleError::Allow);
            }
            None => return Err(PrefixRuleError::NoDecision),
        };
        if self
            .justification
            .as_deref()
            .is_some_and(|text| text.trim().is_empty())
        {
            return Err(PrefixRuleError::EmptyJustification);
        }
        let pattern = self.pattern.into_iter().map(PatternTokenForm::into_token);
        Ok(PrefixRule {
            pattern: pattern.collect::<Result<_, _>>()?,
            decision,
            justification: self.justification,
        })
    }
}

impl PatternTokenForm {
    fn into_token(self) -> Result<PatternToken, PrefixRuleError> {
        let blank = |word: &String| word.trim().is_empty();
        match (self.token, self.any_of) {
            (Some(token), None) if !blank(&token) => Ok(PatternToken::Single(token)),
            (None, Some(words)) if !words.is_empty() && !words.iter().any(blank) => {
                Ok(PatternToken::AnyOf(words))
            }
            (Some(_), None) | (None, Some(_)) => Err(PrefixRuleError::EmptyWord),
            _ => Err(PrefixRuleError::PatternElement),
        }
    }
}
