//! The rules of one ignore file.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::glob;

/// A longer ignore file is not read to its end.
const SIZE_LIMIT: u64 = 1024 * 1024;

/// What a rule says of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    LeaveOut,
    Keep,
}

/// The rules of one file, in its order: the last that fits decides.
#[derive(Debug, Default)]
pub(crate) struct Rules(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    pattern: Pattern,
    verdict: Verdict,
    folders_only: bool,
}

#[derive(Debug)]
enum Pattern {
    /// The whole last component.
    Name(Vec<u8>),
    /// How the last component ends.
    Ending(Vec<u8>),
    /// The last component.
    NameGlob(Vec<u8>),
    /// The path from the file's folder on.
    PathGlob(Vec<u8>),
}

impl Rules {
    /// None if there is no such file, or it cannot be read.
    pub(super) fn read(path: &Path) -> Option<Self> {
        // A pipe of that name must not hold anybody up.
        if !path.metadata().is_ok_and(|found| found.is_file()) {
            return None;
        }
        let mut text = Vec::new();
        let file = File::open(path).ok()?;
        file.take(SIZE_LIMIT).read_to_end(&mut text).ok()?;
        Some(Self::parse(&text))
    }

    fn parse(text: &[u8]) -> Self {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        Self(
            text.split(|byte| *byte == b'\n')
                .filter_map(parse)
                .collect(),
        )
    }

    pub(super) fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// What is said of a path relative to the file's folder.
    pub(super) fn verdict(&self, path: &[u8], is_folder: bool) -> Option<Verdict> {
        let start = memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1);
        let name = &path[start..];
        let fits = |rule: &&Rule| {
            (is_folder || !rule.folders_only)
                && match &rule.pattern {
                    Pattern::Name(wanted) => name == wanted,
                    Pattern::Ending(wanted) => name.ends_with(wanted),
                    Pattern::NameGlob(pattern) => glob::matches(pattern, name),
                    Pattern::PathGlob(pattern) => glob::matches(pattern, path),
                }
        };
        self.0.iter().rev().find(fits).map(|rule| rule.verdict)
    }
}

fn parse(line: &[u8]) -> Option<Rule> {
    let line = without_blanks(line.strip_suffix(b"\r").unwrap_or(line));
    if line.first() == Some(&b'#') {
        return None;
    }
    let (verdict, line) = match line.strip_prefix(b"!") {
        Some(rest) => (Verdict::Keep, rest),
        None => (Verdict::LeaveOut, line),
    };
    let (folders_only, line) = match line.strip_suffix(b"/") {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    if line.is_empty() {
        return None;
    }
    Some(Rule {
        pattern: pattern(line),
        verdict,
        folders_only,
    })
}

fn pattern(line: &[u8]) -> Pattern {
    let is_plain = |text: &[u8]| !text.iter().any(|byte| b"*?[\\".contains(byte));
    if line.contains(&b'/') {
        // Anywhere below is the same as by the name alone.
        return match line.strip_prefix(b"**/") {
            Some(name) if !name.contains(&b'/') => pattern(name),
            _ => Pattern::PathGlob(line.strip_prefix(b"/").unwrap_or(line).to_vec()),
        };
    }
    match line.strip_prefix(b"*") {
        _ if is_plain(line) => Pattern::Name(line.to_vec()),
        Some(ending) if is_plain(ending) => Pattern::Ending(ending.to_vec()),
        _ => Pattern::NameGlob(line.to_vec()),
    }
}

/// Blanks at the end do not count, unless a backslash says so.
fn without_blanks(mut line: &[u8]) -> &[u8] {
    while let Some(rest) = line.strip_suffix(b" ") {
        let backslashes = rest.iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 1 {
            break;
        }
        line = rest;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rules: &str, left_out: &[&str], kept: &[&str]) {
        let parsed = Rules::parse(rules.as_bytes());
        let verdict = |path: &str| {
            let (path, is_folder) = match path.strip_suffix('/') {
                Some(path) => (path, true),
                None => (path, false),
            };
            parsed.verdict(path.as_bytes(), is_folder) == Some(Verdict::LeaveOut)
        };
        for path in left_out {
            assert!(verdict(path), "{rules:?} leaves {path} out");
        }
        for path in kept {
            assert!(!verdict(path), "{rules:?} keeps {path}");
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
    fn what_is_no_rule_is_passed_over() {
        check("# a\n\n   \n/\n!\n", &[], &["a", "# a", " "]);
        check("\\#a\n\\!b\n", &["#a", "!b"], &["a", "b"]);
        check("a  \nb\\ \nc\r\n", &["a", "b ", "c"], &["a  ", "b"]);
        check("\u{feff}a", &["a"], &[]);
        check("[a", &[], &["a", "[a"]);
    }
}
