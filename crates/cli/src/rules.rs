//! The rules about commands that a session starts with: those of files, and those of an administrator.

use std::path::PathBuf;

use codex_config::{
    Config, ConfigWarning, PatternToken as Word, RuleDecision, TextPosition, TextRange,
};
use codex_exec_policy::{Decision, PatternToken, Policy, PrefixRule, RuleError};

/// The rules of all folders that count, and what is wrong with their files. A file with a mistake is left
/// out as a whole; the folders of a project count once it is trusted.
pub(crate) fn rules(config: &Config) -> (Policy, Vec<ConfigWarning>) {
    let mut policy = Policy::default();
    let mut warnings = Vec::new();
    for folder in &config.rule_folders {
        match policy.add_folder(folder) {
            Ok(mistakes) => warnings.extend(mistakes.into_iter().map(mistake)),
            Err(error) => warnings.push(ConfigWarning {
                path: Some(error.path.clone()),
                ..warning(error.to_string())
            }),
        }
    }
    let required = config.requirements.rules.iter();
    for rule in required.flat_map(|rules| &rules.value) {
        let pattern = rule.pattern.iter().map(|word| match word {
            Word::Single(word) => PatternToken::Word(word.clone()),
            Word::AnyOf(words) => PatternToken::AnyOf(words.clone()),
        });
        let decision = match rule.decision {
            RuleDecision::Prompt => Decision::Prompt,
            RuleDecision::Forbidden => Decision::Forbidden,
        };
        match PrefixRule::new(pattern.collect(), decision, rule.justification.clone()) {
            Ok(rule) => policy.add_prefix_rule(rule),
            Err(problem) => warnings.push(warning(problem.to_string())),
        }
    }
    (policy, warnings)
}

fn warning(details: String) -> ConfigWarning {
    ConfigWarning {
        details: Some(details),
        ..ConfigWarning::new("Error parsing rules; custom rules not applied.")
    }
}

fn mistake(error: RuleError) -> ConfigWarning {
    let place = TextPosition {
        line: error.line,
        column: error.column,
    };
    ConfigWarning {
        path: Some(PathBuf::from(&error.file)),
        range: Some(TextRange {
            start: place,
            end: place,
        }),
        ..warning(error.to_string())
    }
}
