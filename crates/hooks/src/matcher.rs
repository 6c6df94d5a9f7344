//! Matchers: regular expressions that restrict a hook to some occasions.

use codex_protocol::HookEventName;
use regex::{Regex, RegexBuilder};

/// The memory limit of a compiled expression.
const SIZE_LIMIT: usize = 1024 * 1024;

/// Restricts a hook to some occasions.
#[derive(Clone, Debug, Default)]
pub struct Matcher {
    text: Option<String>,
    expression: Option<Regex>,
}

/// A matcher that is no regular expression.
#[derive(Clone, Debug)]
pub struct InvalidMatcher(String);

impl std::fmt::Display for InvalidMatcher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for InvalidMatcher {}

impl Matcher {
    /// Reads a matcher. Nothing, an empty text and `*` match everything. Events without a subject have no matcher.
    ///
    /// # Errors
    /// The text is no regular expression.
    pub fn parse(event: HookEventName, text: Option<&str>) -> Result<Self, InvalidMatcher> {
        let Some(text) = text.filter(|_| has_subject(event)) else {
            return Ok(Self::default());
        };
        let expression = match text {
            "" | "*" => None,
            text => {
                let mut builder = RegexBuilder::new(text);
                let built = builder.size_limit(SIZE_LIMIT).build();
                Some(built.map_err(|error| InvalidMatcher(error.to_string()))?)
            }
        };
        Ok(Self {
            text: Some(text.to_owned()),
            expression,
        })
    }

    /// The matcher as it was written.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Whether any of the names is matched. The expression may match anywhere in a name.
    #[must_use]
    pub fn matches(&self, names: &[&str]) -> bool {
        match &self.expression {
            None => true,
            Some(expression) => names.iter().any(|name| expression.is_match(name)),
        }
    }
}

/// Whether occasions of an event differ by a name that a matcher can look at.
fn has_subject(event: HookEventName) -> bool {
    !matches!(
        event,
        HookEventName::PreModelRequest
            | HookEventName::PostModelRequest
            | HookEventName::UserPromptSubmit
            | HookEventName::Stop
            | HookEventName::Interrupt
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(matcher: Option<&str>, names: &[&str], expected: bool) {
        let parsed = Matcher::parse(HookEventName::PreToolUse, matcher).unwrap();
        assert_eq!(parsed.matches(names), expected, "{matcher:?} {names:?}");
    }

    #[test]
    fn expressions_match_anywhere_in_a_name() {
        for everything in [None, Some(""), Some("*")] {
            check(everything, &["Bash"], true);
            check(everything, &[], true);
        }
        check(Some("^Bash$"), &["Bash"], true);
        check(Some("^Bash$"), &["BashOutput"], false);
        check(Some("ash"), &["Bash"], true);
        check(Some("bash"), &["Bash"], false);
        check(Some("Edit|Write"), &["apply_patch", "Edit"], true);
        check(Some("mcp__memory__.*"), &["mcp__memory__read"], true);
        check(Some("Edit"), &[], false);
    }

    #[test]
    fn events_without_a_subject_ignore_matchers() {
        let stop = Matcher::parse(HookEventName::Stop, Some("(")).unwrap();
        assert_eq!(stop.text(), None);
        assert!(stop.matches(&[]));
    }

    #[test]
    fn invalid_matcher_expression_is_an_error() {
        for text in ["(", "(?:a{1000}){1000}{1000}"] {
            Matcher::parse(HookEventName::PreToolUse, Some(text)).unwrap_err();
        }
    }
}
