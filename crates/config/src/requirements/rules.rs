//! Rules for commands among the limits. They can only be stricter than rules files, never allow.

use serde::Deserialize;

/// `[rules]` of limits.
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
    /// Why.
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
    /// Somebody is asked.
    Prompt,
    /// It is refused.
    Forbidden,
}

impl RulesFile {
    /// The rules, or what is wrong with them.
    pub(super) fn into_rules(self) -> Result<Vec<PrefixRule>, String> {
        if self.prefix_rules.is_empty() {
            return Err("prefix_rules cannot be empty".to_owned());
        }
        let rules = self.prefix_rules.into_iter().enumerate();
        rules
            .map(|(at, rule)| rule.into_rule().map_err(|why| format!("rule {at}: {why}")))
            .collect()
    }
}

impl PrefixRuleForm {
    fn into_rule(self) -> Result<PrefixRule, String> {
        if self.pattern.is_empty() {
            return Err("pattern cannot be empty".to_owned());
        }
        let decision = match self.decision {
            Some(DecisionForm::Prompt) => RuleDecision::Prompt,
            Some(DecisionForm::Forbidden) => RuleDecision::Forbidden,
            Some(DecisionForm::Allow) => {
                return Err("decision `allow` is not permitted in requirements".to_owned());
            }
            None => return Err("missing decision".to_owned()),
        };
        if self
            .justification
            .as_deref()
            .is_some_and(|text| text.trim().is_empty())
        {
            return Err("justification cannot be empty".to_owned());
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
    fn into_token(self) -> Result<PatternToken, String> {
        let blank = |word: &String| word.trim().is_empty();
        match (self.token, self.any_of) {
            (Some(token), None) if !blank(&token) => Ok(PatternToken::Single(token)),
            (None, Some(words)) if !words.is_empty() && !words.iter().any(blank) => {
                Ok(PatternToken::AnyOf(words))
            }
            (Some(_), None) | (None, Some(_)) => Err("pattern words cannot be empty".to_owned()),
            _ => Err("a pattern element must have either `token` or `any_of`".to_owned()),
        }
    }
}
