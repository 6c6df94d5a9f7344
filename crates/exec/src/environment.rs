//! Computes the environment variables of commands.
//!
//! Pure functions on values; the environment of this process is not read.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Which of the given variables are inherited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InheritMode {
    /// All variables.
    #[default]
    All,
    /// Only variables that most programs need.
    Core,
    /// No variables.
    None,
}

const CORE: [&str; 9] = [
    "HOME", "LOGNAME", "PATH", "SHELL", "USER", "USERNAME", "TMPDIR", "TEMP", "TMP",
];

const DEFAULT_EXCLUDES: [&str; 3] = ["*KEY*", "*SECRET*", "*TOKEN*"];

/// A pattern for a whole name: `*` matches any text and `?` one character. Case is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern {
    text: Vec<u8>,
}

impl NamePattern {
    /// Any text is a valid pattern.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_ascii_uppercase().into_bytes(),
        }
    }

    /// Whether the pattern matches the whole name.
    #[must_use]
    pub fn matches(&self, name: &OsStr) -> bool {
        let name = name.to_ascii_uppercase();
        fits(&self.text, name.as_encoded_bytes())
    }
}

/// Linear in practice: on a mismatch only the last `*` is extended by one character.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while seen < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                retry = Some((at, seen));
                at += 1;
            }
            Some(wanted) if *wanted == b'?' || *wanted == name[seen] => {
                at += 1;
                seen += 1;
            }
            _ => match retry {
                Some((star, from)) => {
                    retry = Some((star, from + 1));
                    at = star + 1;
                    seen = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|rest| *rest == b'*')
}

/// Selects the environment variables of commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentPolicy {
    /// Which variables to start with.
    pub inherit: InheritMode,
    /// Whether to drop variables whose names suggest secrets.
    pub default_excludes: bool,
    /// Variables to drop.
    pub exclude: Vec<NamePattern>,
    /// Variables to set.
    pub set: BTreeMap<OsString, OsString>,
    /// If not empty, all other variables are dropped, also those from `set`.
    pub include_only: Vec<NamePattern>,
}

impl EnvironmentPolicy {
    /// Computes the variables of a command from the given ones.
    #[must_use]
    pub fn apply(
        &self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> BTreeMap<OsString, OsString> {
        let defaults: Vec<_> = DEFAULT_EXCLUDES.map(NamePattern::new).into();
        let dropped = |name: &OsStr| {
            let excluded = any(&self.exclude, name);
            excluded || self.default_excludes && any(&defaults, name)
        };
        let mut out: BTreeMap<_, _> = variables
            .into_iter()
            .filter(|(name, _)| self.inherits(name) && !dropped(name))
            .collect();
        out.extend(self.set.clone());
        if !self.include_only.is_empty() {
            out.retain(|name, _| any(&self.include_only, name));
        }
        out
    }

    fn inherits(&self, name: &OsStr) -> bool {
        match self.inherit {
            InheritMode::All => true,
            InheritMode::Core => CORE.iter().any(|core| name.eq_ignore_ascii_case(core)),
            InheritMode::None => false,
        }
    }
}

fn any(patterns: &[NamePattern], name: &OsStr) -> bool {
    patterns.iter().any(|pattern| pattern.matches(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(policy: &EnvironmentPolicy) -> Vec<String> {
        let variables = ["PATH", "HOME", "API_KEY", "my_token", "EDITOR"];
        let variables = variables.map(|name| (name.into(), "x".into()));
        policy
            .apply(variables)
            .into_keys()
            .map(|name| name.into_string().unwrap())
            .collect()
    }

    fn patterns(texts: &[&str]) -> Vec<NamePattern> {
        texts.iter().map(|text| NamePattern::new(text)).collect()
    }

    #[test]
    fn by_default_everything_is_inherited() {
        let all = ["API_KEY", "EDITOR", "HOME", "PATH", "my_token"];
        assert_eq!(names(&EnvironmentPolicy::default()), all);
    }

    #[test]
    fn the_steps_come_in_order() {
        let mut policy = EnvironmentPolicy {
            default_excludes: true,
            exclude: patterns(&["edit??"]),
            set: BTreeMap::from([("NEW_KEY".into(), "1".into())]),
            ..EnvironmentPolicy::default()
        };
        assert_eq!(names(&policy), ["HOME", "NEW_KEY", "PATH"]);
        policy.inherit = InheritMode::Core;
        policy.include_only = patterns(&["p*", "e*"]);
        assert_eq!(names(&policy), ["PATH"]);
        policy.inherit = InheritMode::None;
        assert_eq!(names(&policy), Vec::<String>::new());
    }

    #[test]
    fn patterns_fit_whole_names() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("", "A", false),
            ("a*c", "ABBBC", true),
            ("a*c", "ABBCD", false),
            ("*KEY*", "MY_KEYS", true),
            ("?", "AB", false),
            ("A*B*C", "AXBXBXC", true),
        ] {
            let fits = NamePattern::new(pattern).matches(OsStr::new(name));
            assert_eq!(fits, expected, "{pattern} {name}");
        }
    }
}
