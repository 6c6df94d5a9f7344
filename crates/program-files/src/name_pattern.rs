//! Names with patterns in them, as shells expand them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The files that a path with patterns in it matches.
pub(crate) fn expand(path: &Path, limit: usize) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in path.components() {
        let part = part.as_os_str();
        let pattern = part.to_str().filter(|part| part.contains(['*', '?', '[']));
        let Some(pattern) = pattern else {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        };
        let entries = found.iter().flat_map(|folder| {
            let entries = codex_mounts::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten();
            entries.map(|entry| entry.path())
        });
        let matching = entries.filter(|path| {
            let name = path.file_name().and_then(OsStr::to_str);
            name.is_some_and(|name| matches(pattern, name))
        });
        found = matching.take(limit).collect();
    }
    found
}

/// Whether a name matches a pattern. Sets of characters match any character.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.chars();
    match parts.next() {
        None => name.is_empty(),
        Some('*') => {
            let rest = parts.as_str();
            let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.any(|at| matches(rest, &name[at..]))
        }
        Some(c) => {
            let mut own = name.chars();
            let rest = match c {
                '[' => parts.as_str().split_once(']').map_or("", |(_, rest)| rest),
                _ => parts.as_str(),
            };
            let first = own.next();
            let fits = match c {
                '?' | '[' => first.is_some(),
                c => first == Some(c),
            };
            fits && matches(rest, own.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names() {
        for (pattern, name, expected) in [
            ("*.sh", "a.sh", true),
            ("*.sh", "a.py", false),
            ("a?c*", "abcd", true),
            ("[ab]x", "bx", true),
            ("x", "xy", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
