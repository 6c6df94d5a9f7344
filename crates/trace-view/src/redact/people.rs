//! The names of people in paths.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A name of a person of fewer letters would be found everywhere.
const SHORTEST_NAME: usize = 2;

/// Homes begin at the top of a path: what a folder called `home` further down holds is nobody's name. Texts are looked
/// at both as they are and as JSON writes them.
pub(super) static HOMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"((?:^|[^A-Za-z0-9_./-]|-[A-Za-z]|\\[nrt]|file://)(?:/mnt/[a-z])?/(?:home|Users)/|\b[A-Za-z]:[\\/]+Users[\\/]+)",
        r#"([^/\\\s"'`:;,<>()|]+)"#,
    ))
    .ok()
});

/// Whose name does not leave the machine, beside those that stand in the bundle's own paths.
#[derive(Debug, Clone, Default)]
pub struct Person {
    pub home: Option<String>,
    pub user: Option<String>,
}

/// The people whose names are known.
pub(super) struct People {
    homes: Vec<String>,
    names: BTreeSet<String>,
    /// Finds the names where they are part of a path.
    in_paths: Option<Regex>,
}

impl People {
    pub(super) fn new(person: &Person) -> Self {
        let long = |home: &&String| home.trim_end_matches('/').len() > "/root".len();
        let mut people = Self {
            homes: person.home.iter().filter(long).cloned().collect(),
            names: BTreeSet::new(),
            in_paths: None,
        };
        if let Some(user) = &person.user {
            people.learn(user);
        }
        people
    }

    /// Notes the names in the paths of a text, before anything is replaced.
    pub(super) fn learn_from(&mut self, text: &str) {
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

    /// A text without the names.
    pub(super) fn clean(&self, mut text: String) -> String {
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
}

/// Replaces in place; a text with nothing in it is not copied.
fn replace(text: &mut String, pattern: &Regex, by: impl FnMut(&Captures<'_>) -> String) {
    if let std::borrow::Cow::Owned(replaced) = pattern.replace_all(text, by) {
        *text = replaced;
    }
}
