//! The rules of one ignore file.

use std::path::Path;

use codex_system::name::path_of;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Limit on the size of an ignore file. The rest is not read.
const SIZE_LIMIT: u64 = 1024 * 1024;

/// The decision of rules about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IgnoreDecision {
    Exclude,
    Include,
}

/// The rules of ignore files in order. The last matching rule applies.
#[derive(Debug)]
pub(crate) struct IgnorePatterns(Gitignore);

impl IgnorePatterns {
    /// Reads the rules; none if no file can be read.
    pub(super) fn read<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Option<Self> {
        let read = |path| codex_regular_file::read_start(path, SIZE_LIMIT).ok();
        let texts: Vec<_> = paths.into_iter().filter_map(read).collect();
        (!texts.is_empty()).then(|| Self::parse(texts.iter().map(Vec::as_slice)))
    }

    /// A line that is not a valid rule is skipped.
    fn parse<'t>(texts: impl IntoIterator<Item = &'t [u8]>) -> Self {
        // With the root `.` the matcher takes every path as relative to the folder of the file.
        let mut rules = GitignoreBuilder::new(".");
        for text in texts {
            let text = String::from_utf8_lossy(text);
            for line in text.trim_start_matches('\u{feff}').lines() {
                rules.add_line(None, line).ok();
            }
        }
        Self(rules.build().unwrap_or_else(|_| Gitignore::empty()))
    }

    /// The decision about a path relative to the folder of the file.
    pub(super) fn decision(&self, path: &[u8], is_folder: bool) -> Option<IgnoreDecision> {
        match self.0.matched(path_of(path), is_folder) {
            Match::None => None,
            Match::Ignore(_) => Some(IgnoreDecision::Exclude),
            Match::Whitelist(_) => Some(IgnoreDecision::Include),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rules: &str, excluded: &[&str], included: &[&str]) {
        let parsed = IgnorePatterns::parse([rules.as_bytes()]);
        let decision = |path: &str| {
            let (path, is_folder) = match path.strip_suffix('/') {
                Some(path) => (path, true),
                None => (path, false),
            };
            parsed.decision(path.as_bytes(), is_folder) == Some(IgnoreDecision::Exclude)
        };
        for path in excluded {
            assert!(decision(path), "{rules:?} excludes {path}");
        }
        for path in included {
            assert!(!decision(path), "{rules:?} includes {path}");
        }
    }

    #[test]
    fn names_count_at_every_depth() {
        check("a", &["a", "x/a", "a/"], &["ab", "a/b"]);
        check("*.o", &["x.o", "d/x.o", ".o"], &["x.oo"]);
        check("f?o*", &["foo", "d/fxoyy"], &["fo", "f/o"]);
        check("a/", &["a/", "x/a/"], &["a"]);
        check("[a-c]x\n", &["bx"], &["dx", "bxx"]);
    }

    #[test]
    fn a_slash_ties_a_rule_to_its_folder() {
        check("/a", &["a"], &["x/a"]);
        check("a/b", &["a/b"], &["x/a/b", "b"]);
        check("a/*", &["a/b"], &["a/b/c"]);
        check("/a/", &["a/"], &["a", "x/a/"]);
    }

    #[test]
    fn two_stars_are_any_folders() {
        check("**/a", &["a", "x/a", "x/y/a"], &["ba"]);
        check("**/a/b", &["a/b", "x/y/a/b"], &["b", "xa/b"]);
        check("a/**", &["a/b", "a/b/c"], &["a", "b"]);
        check("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb"]);
        check("a**/b", &["ax/b", "a/b"], &["a/x/b"]);
    }

    #[test]
    fn the_last_rule_that_fits_decides() {
        check(
            "*.log\n!keep.log\n",
            &["a.log"],
            &["keep.log", "d/keep.log"],
        );
        check("!a\na", &["a"], &[]);
    }

    #[test]
    fn comments_and_blank_lines_are_no_ignore_rules() {
        check("# a\n\n   \n/\n!\n", &[], &["a", "# a", " "]);
        check("\\#a\n\\!b\n", &["#a", "!b"], &["a", "b"]);
        check("a  \nb\\ \nc\r\n", &["a", "b ", "c"], &["a  ", "b"]);
        check("\u{feff}a", &["a"], &[]);
    }
}
