//! The environment variables of commands.

use std::collections::BTreeMap;

use codex_system::facts::IGNORES_CASE_OF_VARIABLES;

use crate::schema::{EnvironmentInherit, ShellEnvironmentFile};

/// Variables that most programs need.
const CORE: &[&str] = &[
    "HOME", "LOGNAME", "PATH", "SHELL", "USER", "USERNAME", "TMPDIR", "TEMP", "TMP",
];

/// Patterns of variables that probably contain secrets.
const SECRETS: &[&str] = &["*KEY*", "*SECRET*", "*TOKEN*"];

/// Logins of this program, which no command is for.
const LOGINS: &[&str] = &["CODEX_ACCESS_TOKEN"];

/// Selects the environment variables of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellEnvironmentPolicy {
    inherit: EnvironmentInherit,
    drop_secrets: bool,
    exclude: Vec<String>,
    set: BTreeMap<String, String>,
    include_only: Vec<String>,
}

/// Selects the environment variables of commands on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariablesElsewhere {
    pub inherit: EnvironmentInherit,
    /// Whether variables are left out whose names look like those of secrets.
    pub drop_secrets: bool,
    pub exclude: Vec<String>,
    pub set: BTreeMap<String, String>,
    pub include_only: Vec<String>,
}

impl ShellEnvironmentPolicy {
    pub(super) fn from_file(file: &ShellEnvironmentFile) -> Self {
        Self {
            inherit: file.inherit.unwrap_or_default(),
            drop_secrets: file.ignore_default_excludes == Some(false),
            exclude: file.exclude.clone().unwrap_or_default(),
            set: file.set.clone().unwrap_or_default(),
            include_only: file.include_only.clone().unwrap_or_default(),
        }
    }

    /// The policy where it is not known what settings say.
    pub(super) fn least() -> Self {
        Self {
            inherit: EnvironmentInherit::Core,
            ..Self::default()
        }
    }

    /// The policy for another machine, which has variables of its own.
    pub fn elsewhere(&self) -> VariablesElsewhere {
        let logins = LOGINS.iter().map(|name| (*name).to_owned());
        VariablesElsewhere {
            inherit: self.inherit,
            drop_secrets: self.drop_secrets,
            exclude: self.exclude.iter().cloned().chain(logins).collect(),
            set: self.set.clone(),
            include_only: self.include_only.clone(),
        }
    }

    /// Computes the environment of a command from the environment of this process. `thread_id` is set for commands of a
    /// thread.
    pub fn apply(
        &self,
        inherited: impl IntoIterator<Item = (String, String)>,
        thread_id: Option<&str>,
    ) -> BTreeMap<String, String> {
        let mut variables: BTreeMap<String, String> = inherited
            .into_iter()
            .filter(|(name, _)| self.inherits(name))
            .collect();
        variables.extend(self.set.clone());
        if !self.include_only.is_empty() {
            variables.retain(|name, _| matches_any(&self.include_only, name));
        }
        if let Some(id) = thread_id {
            variables.insert("CODEX_THREAD_ID".to_owned(), id.to_owned());
        }
        variables
    }

    fn inherits(&self, name: &str) -> bool {
        let base = match self.inherit {
            EnvironmentInherit::All => true,
            EnvironmentInherit::None => false,
            EnvironmentInherit::Core if IGNORES_CASE_OF_VARIABLES => {
                CORE.iter().any(|core| core.eq_ignore_ascii_case(name))
            }
            EnvironmentInherit::Core => CORE.contains(&name),
        };
        let is_dropped = (self.drop_secrets && matches_any(SECRETS, name))
            || matches_any(&self.exclude, name)
            || matches_any(LOGINS, name);
        base && !is_dropped
    }
}

fn matches_any<P: AsRef<str>>(patterns: &[P], name: &str) -> bool {
    if patterns.is_empty() {
        return false;
    }
    let name: Vec<char> = name.chars().flat_map(char::to_lowercase).collect();
    patterns.iter().any(|pattern| {
        let pattern: Vec<char> = pattern
            .as_ref()
            .chars()
            .flat_map(char::to_lowercase)
            .collect();
        matches(&pattern, &name)
    })
}

/// Matches a pattern of `*` and `?`. On a mismatch only the last `*` is extended, so the time is bounded by the product of
/// the lengths.
fn matches(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut retry = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, n));
                p += 1;
            }
            Some(c) if *c == '?' || Some(c) == name.get(n) => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((after_star, taken)) = retry else {
                    return false;
                };
                retry = Some((after_star, taken + 1));
                (p, n) = (after_star, taken + 1);
            }
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_without_case() {
        let table = [
            ("*KEY*", "my_key_2", true),
            ("*KEY*", "keys", true),
            ("*KEY*", "KE", false),
            ("A?C", "abc", true),
            ("A?C", "ac", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(matches_any(&[pattern], name), expected, "{pattern} {name}");
        }
    }

    #[track_caller]
    fn check(policy: &str, expected: &[&str]) {
        let policy = ShellEnvironmentPolicy::from_file(&toml::from_str(policy).unwrap());
        let inherited = ["PATH", "HOME", "API_KEY", "EDITOR", "CODEX_ACCESS_TOKEN"];
        let inherited = inherited.map(|name| (name.to_owned(), "v".to_owned()));
        let names: Vec<String> = policy.apply(inherited, None).into_keys().collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn the_steps_come_in_order() {
        check("", &["API_KEY", "EDITOR", "HOME", "PATH"]);
        check(
            "ignore_default_excludes = false",
            &["EDITOR", "HOME", "PATH"],
        );
        check("inherit = 'core'", &["HOME", "PATH"]);
        check("inherit = 'none'\nset = { A = '1' }", &["A"]);
        check(
            "exclude = ['ed*']\nset = { EDIT = '1' }",
            &["API_KEY", "EDIT", "HOME", "PATH"],
        );
        check(
            "include_only = ['p*', 'a']\nset = { A = '1', B = '2' }",
            &["A", "PATH"],
        );
        check(
            "ignore_default_excludes = false\nset = { API_KEY = 'mine' }",
            &["API_KEY", "EDITOR", "HOME", "PATH"],
        );
    }

    #[test]
    fn the_thread_is_added_last() {
        let policy = ShellEnvironmentFile {
            include_only: Some(vec!["X".to_owned()]),
            ..ShellEnvironmentFile::default()
        };
        let variables = ShellEnvironmentPolicy::from_file(&policy).apply([], Some("t"));
        assert_eq!(variables["CODEX_THREAD_ID"], "t");
    }
}
