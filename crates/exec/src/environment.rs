//! Which variables commands get.
//!
//! Pure: variables come in and go out as values; this process's own are never looked at.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// What is taken over from the given variables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Inherit {
    /// Everything.
    #[default]
    All,
    /// What programs need to find their way around.
    Core,
    /// Nothing.
    None,
}

const CORE: [&str; 9] = [
    "HOME", "LOGNAME", "PATH", "SHELL", "USER", "USERNAME", "TMPDIR", "TEMP", "TMP",
];

const DEFAULT_EXCLUDES: [&str; 3] = ["*KEY*", "*SECRET*", "*TOKEN*"];

/// A pattern for a whole name, in which `*` stands for any text and `?` for one character. Case
/// does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern {
    text: Vec<u8>,
}

impl NamePattern {
    /// Every text is a pattern.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_ascii_uppercase().into_bytes(),
        }
    }

    /// Whether the pattern fits the whole of `name`.
    #[must_use]
    pub fn matches(&self, name: &OsStr) -> bool {
        let name = name.to_ascii_uppercase();
        fits(&self.text, name.as_encoded_bytes())
    }
}

/// Linear in practice: on a mismatch only the last `*` takes one character more.
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

/// Which variables commands get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentPolicy {
    /// What to start from.
    pub inherit: Inherit,
    /// Whether to drop what looks like a secret by its name.
    pub default_excludes: bool,
    /// What to drop.
    pub exclude: Vec<NamePattern>,
    /// What to set.
    pub set: BTreeMap<OsString, OsString>,
    /// If there are any, nothing else is kept, not even from `set`.
    pub include_only: Vec<NamePattern>,
}

impl EnvironmentPolicy {
    /// The variables of a command, from those of its owner.
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
            Inherit::All => true,
            Inherit::Core => CORE.iter().any(|core| name.eq_ignore_ascii_case(core)),
            Inherit::None => false,
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
        policy.inherit = Inherit::Core;
        policy.include_only = patterns(&["p*", "e*"]);
        assert_eq!(names(&policy), ["PATH"]);
        policy.inherit = Inherit::None;
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
