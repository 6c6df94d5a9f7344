//! What counts as a secret, and what stands in its place.
//!
//! Three kinds: tokens that are known by their form, values of keys that are known by their name, and the names of
//! people in paths. A secret becomes a label with a number, the same for the same secret, which says nothing about it.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::Person;
use super::json::Key;

/// A value of fewer characters is no key.
const SHORTEST: usize = 8;

/// Bits for each character, from which on a value looks random.
const RANDOM: f64 = 3.0;

/// A name of a person of fewer letters would be found everywhere.
const SHORTEST_NAME: usize = 2;

/// Tokens by their form. The first group, where there is one, stays.
static TOKENS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?s)((?i:\b(?:bearer|basic|token)[ :]\s*))[A-Za-z0-9._~+/=-]{12,}",
        r"|\b(?:sk|pk|rk|ak)[-_][A-Za-z0-9_-]{16,}",
        r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}",
        r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}",
        r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}",
        r"|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{30,}|\bhf_[A-Za-z0-9]{20,}|\bdop_v1_[a-f0-9]{40,}",
        r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    ))
    .ok()
});

/// Names and values in text: `export API_KEY=...`, `password: ...`, `https://user:pass@host`.
static ASSIGNMENTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"([A-Za-z0-9_.-]{0,40}(?i:passw|passphrase|secret|token|key|credential|cookie|authorization)[A-Za-z0-9_-]{0,40})",
        r#"(["']?\s{0,3}[=:]\s{0,3}["']?)([^\s"'`,;&<>]{4,})"#,
        r"|([a-z][a-z0-9+.-]*://[^/\s:@]*:)([^/\s@]+)@",
    ))
    .ok()
});

static KEY_NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)passw(?:or)?d|passphrase|secret|authorization|api[-_]?key|private[-_]?key|access[-_]?key|auth[-_]?key",
        r"|credential|cookie|session[-_]?key|(?:^|[-_.])token$|[a-z]Token$|^token[-_]?value|signing[-_]?key",
    ))
    .ok()
});

/// Homes begin at the top of a path: what a folder called `home` further down holds is nobody's name. Texts are looked
/// at both as they are and as JSON writes them.
static HOMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"((?:^|[^A-Za-z0-9_./-]|-[A-Za-z]|\\[nrt]|file://)(?:/mnt/[a-z])?/(?:home|Users)/|\b[A-Za-z]:[\\/]+Users[\\/]+)",
        r#"([^/\\\s"'`:;,<>()|]+)"#,
    ))
    .ok()
});

/// What has been found so far.
pub(super) struct Secrets {
    homes: Vec<String>,
    names: BTreeSet<String>,
    /// Finds the names where they are part of a path.
    in_paths: Option<Regex>,
    numbers: HashMap<String, usize>,
}

impl Secrets {
    pub(super) fn new(person: &Person) -> Self {
        let long = |home: &&String| home.trim_end_matches('/').len() > "/root".len();
        let mut secrets = Self {
            homes: person.home.iter().filter(long).cloned().collect(),
            names: BTreeSet::new(),
            in_paths: None,
            numbers: HashMap::new(),
        };
        if let Some(user) = &person.user {
            secrets.learn(user);
        }
        secrets
    }

    /// Notes the names of people in the paths of a text, before anything is replaced.
    pub(super) fn learn_names(&mut self, text: &str) {
        let Some(homes) = &*HOMES else { return };
        if !(text.contains("home/") || text.contains("Users")) {
            return;
        }
        let names: Vec<&str> = homes
            .captures_iter(text)
            .filter_map(|found| found.get(2))
            .map(|name| name.as_str())
            .collect();
        for name in names {
            self.learn(name);
        }
    }

    fn learn(&mut self, name: &str) {
        // `/root` is also the path of the first agent.
        let is_common = ["user", "root", "shared", "public", "runner"].contains(&name);
        let is_name = name.chars().any(char::is_alphabetic) && !name.contains(['{', '$', '*', '<']);
        if is_common || !is_name || name.len() < SHORTEST_NAME || !self.names.insert(name.into()) {
            return;
        }
        let names: Vec<String> = self
            .names
            .iter()
            .rev()
            .map(|name| regex::escape(name))
            .collect();
        self.in_paths = Regex::new(&format!(r"([/\\~])(?:{})\b", names.join("|"))).ok();
    }

    /// How many different secrets have been replaced.
    pub(super) fn found(&self) -> usize {
        self.numbers.len()
    }

    /// A string without what must not be seen.
    pub(super) fn clean(&mut self, key: Key<'_>, string: &str) -> String {
        if let Key::Of(key) = key
            && is_secret_value(key, string)
        {
            return self.label(string);
        }
        let mut clean = string.to_owned();
        if let Some(tokens) = &*TOKENS {
            replace(&mut clean, tokens, |found| {
                let kept = found.get(1).map_or("", |kept| kept.as_str());
                let secret = &found[0][kept.len()..];
                format!("{kept}{}", self.label(secret))
            });
        }
        if let Some(assignments) = &*ASSIGNMENTS {
            replace(&mut clean, assignments, |found| {
                match (found.get(3), found.get(5)) {
                    (Some(value), _) if is_secret_value(&found[1], value.as_str()) => {
                        format!("{}{}{}", &found[1], &found[2], self.label(value.as_str()))
                    }
                    (_, Some(password)) => {
                        format!("{}{}@", &found[4], self.label(password.as_str()))
                    }
                    _ => found[0].to_owned(),
                }
            });
        }
        self.without_people(clean)
    }

    fn without_people(&self, mut text: String) -> String {
        for home in &self.homes {
            if text.contains(home.as_str()) {
                text = text.replace(home.as_str(), "/home/user");
            }
        }
        if let Some(homes) = &*HOMES {
            replace(&mut text, homes, |found| format!("{}user", &found[1]));
        }
        if let Some(names) = &self.in_paths {
            replace(&mut text, names, |found| format!("{}user", &found[1]));
        }
        text
    }

    fn label(&mut self, secret: &str) -> String {
        if secret.starts_with("[secret ") {
            return secret.to_owned();
        }
        let next = self.numbers.len() + 1;
        let number = self.numbers.entry(secret.to_owned()).or_insert(next);
        format!("[secret {number}]")
    }
}

/// Replaces in place; a text with nothing in it is not copied.
fn replace(text: &mut String, pattern: &Regex, by: impl FnMut(&Captures<'_>) -> String) {
    if let std::borrow::Cow::Owned(replaced) = pattern.replace_all(text, by) {
        *text = replaced;
    }
}

/// Passwords need not look random; everything else that a key's name gives away does.
fn is_secret_value(key: &str, value: &str) -> bool {
    let is_named = KEY_NAMES.as_ref().is_some_and(|names| names.is_match(key));
    let is_scheme = ["bearer", "basic", "token"].contains(&value.to_ascii_lowercase().as_str());
    if !is_named || is_scheme || value.starts_with("[secret ") {
        return false;
    }
    let lower = key.to_ascii_lowercase();
    let is_password = ["passw", "passphrase", "authorization"]
        .iter()
        .any(|word| lower.contains(word));
    match is_password {
        true => value.len() >= 4,
        false => value.len() >= SHORTEST && !value.contains(' ') && entropy(value) >= RANDOM,
    }
}

/// Shannon's measure, in bits for each character.
fn entropy(text: &str) -> f64 {
    let mut counts: HashMap<char, f64> = HashMap::new();
    for char in text.chars() {
        *counts.entry(char).or_default() += 1.0;
    }
    let length: f64 = counts.values().sum();
    let bits = counts
        .values()
        .map(|count| -(count / length) * (count / length).log2());
    bits.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(key: &str, string: &str) -> String {
        let person = Person {
            home: Some("/srv/people/ada".to_owned()),
            user: Some("ada".to_owned()),
        };
        Secrets::new(&person).clean(Key::Of(key), string)
    }

    #[test]
    fn every_pattern_compiles() {
        for pattern in [&TOKENS, &ASSIGNMENTS, &KEY_NAMES, &HOMES] {
            assert!(pattern.is_some());
        }
    }

    #[test]
    fn secrets_go_and_words_stay() {
        let cases = [
            (
                "text",
                "Authorization: Bearer abcdefghijklmnop",
                "Authorization: Bearer [secret 1]",
            ),
            (
                "text",
                "use sk-proj-abcdefghijklmnop1234 now",
                "use [secret 1] now",
            ),
            (
                "text",
                "export MY_API_KEY='q8Zr1Lx0Pw7T'",
                "export MY_API_KEY='[secret 1]'",
            ),
            ("text", "password: hunter2", "password: [secret 1]"),
            (
                "text",
                "https://me:pa55w@example.com/x",
                "https://me:[secret 1]@example.com/x",
            ),
            (
                "text",
                "a=b TOKEN=q8Zr1Lx0Pw7T c=d",
                "a=b TOKEN=[secret 1] c=d",
            ),
            ("client_secret", "q8Zr1Lx0Pw7T", "[secret 1]"),
            ("client_secret", "aaaaaaaaaaaa", "aaaaaaaaaaaa"),
            ("cwd", "/home/bob/work", "/home/user/work"),
            (
                "cwd",
                "file:///home/bob/x -I/home/bob",
                "file:///home/user/x -I/home/user",
            ),
            ("cwd", "/tmp/home/skills/x", "/tmp/home/skills/x"),
            ("cwd", r"C:\Users\bob\work", r"C:\Users\user\work"),
            ("cwd", "/srv/people/ada/x", "/home/user/x"),
            ("cwd", "/mnt/ada/x and adage", "/mnt/user/x and adage"),
            ("agent_path", "/root/worker", "/root/worker"),
            ("text", "the token count is 12", "the token count is 12"),
            (
                "prompt_cache_key",
                "01a1fc4b-ed46-7cb2",
                "01a1fc4b-ed46-7cb2",
            ),
        ];
        for (key, string, expected) in cases {
            assert_eq!(clean(key, string), expected, "{key}: {string}");
        }
    }
}
