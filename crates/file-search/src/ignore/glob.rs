//! Patterns of ignore files against paths.
//!
//! `*` and `?` do not match a slash, `**` between slashes does. The time is at worst the product of
//! both lengths: of every kind of star only the last one is ever tried again.

/// Where to go on when the rest does not match: in the pattern, and in the text.
type Retry = Option<(usize, usize)>;

/// Whether the whole of `text` matches.
pub(super) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut star: Retry = None;
    let mut folders: Retry = None;
    loop {
        let step = match pattern.get(at) {
            Some(b'*') => {
                if let Some(after) = after_folders(pattern, at) {
                    if after == pattern.len() && !pattern.ends_with(b"/") {
                        // What is in a folder, not the folder itself.
                        return seen < text.len();
                    }
                    folders = Some((after, seen));
                    star = None;
                    at = after;
                } else {
                    at += stars(&pattern[at..]);
                    star = Some((at, seen));
                }
                continue;
            }
            Some(_) => one(pattern, at, text.get(seen).copied()),
            None if seen == text.len() => return true,
            None => None,
        };
        if let Some(next) = step {
            at = next;
            seen += 1;
        } else if let Some(next) = longer_star(star, text) {
            star = Some(next);
            (at, seen) = next;
        } else if let Some(next) = longer_folders(folders, text) {
            folders = Some(next);
            star = None;
            (at, seen) = next;
        } else {
            return false;
        }
    }
}

/// If `**` between slashes begins at `at`: where the pattern goes on behind it.
fn after_folders(pattern: &[u8], at: usize) -> Option<usize> {
    let begins = at == 0 || pattern[at - 1] == b'/';
    let rest = pattern[at..].strip_prefix(b"**")?;
    match rest.first() {
        _ if !begins => None,
        Some(b'/') => Some(at + 3),
        Some(_) => None,
        None => Some(at + 2),
    }
}

fn stars(pattern: &[u8]) -> usize {
    pattern.iter().take_while(|byte| **byte == b'*').count()
}

/// The star takes one more character, which is not a slash.
fn longer_star(star: Retry, text: &[u8]) -> Retry {
    let (at, seen) = star?;
    (*text.get(seen)? != b'/').then_some((at, seen + 1))
}

/// The folders are one more.
fn longer_folders(folders: Retry, text: &[u8]) -> Retry {
    let (at, seen) = folders?;
    let slash = memchr::memchr(b'/', text.get(seen..)?)?;
    Some((at, seen + slash + 1))
}

/// Matches one character; answers where the pattern goes on.
fn one(pattern: &[u8], at: usize, character: Option<u8>) -> Option<usize> {
    let character = character?;
    match pattern[at] {
        b'?' => (character != b'/').then_some(at + 1),
        b'[' => class(pattern, at + 1, character),
        b'\\' => (pattern.get(at + 1) == Some(&character)).then_some(at + 2),
        plain => (plain == character).then_some(at + 1),
    }
}

/// `[abc]`, `[a-z]`, `[!a]`. One that does not end matches nothing.
fn class(pattern: &[u8], mut at: usize, character: u8) -> Option<usize> {
    let is_negated = matches!(pattern.get(at), Some(b'!' | b'^'));
    if is_negated {
        at += 1;
    }
    let first = at;
    let mut is_in = false;
    loop {
        let mut low = *pattern.get(at)?;
        if low == b']' && at > first {
            break;
        }
        if low == b'\\' {
            at += 1;
            low = *pattern.get(at)?;
        }
        let mut high = low;
        if pattern.get(at + 1) == Some(&b'-') && pattern.get(at + 2).is_some_and(|end| *end != b']')
        {
            at += 2;
            high = *pattern.get(at)?;
            if high == b'\\' {
                at += 1;
                high = *pattern.get(at)?;
            }
        }
        is_in |= (low..=high).contains(&character);
        at += 1;
    }
    (is_in != is_negated && character != b'/').then_some(at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("*", "", true),
            ("*", "a/b", false),
            ("a*b*c", "axbxbxc", true),
            ("a*b*c", "axbxbx", false),
            ("*.*", "a.b.c", true),
            ("**/b*d/**/x", "a/bcd/e/f/x", true),
            ("**/b*d/**/x", "b/d/x", false),
            ("**/a/*/b", "a/x/a/y/b", true),
            ("**/a*/**/c*d", "a/ab/x/cxd", true),
            ("a/**", "a/", false),
            ("[!a]", "b", true),
            ("[^a]", "a", false),
            ("[]a]", "]", true),
            ("[a-]", "-", true),
            ("[!a]", "/", false),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("[\\]]", "]", true),
        ] {
            let found = matches(pattern.as_bytes(), text.as_bytes());
            assert_eq!(found, expected, "{pattern} {text}");
        }
    }

    #[test]
    fn no_pattern_takes_long() {
        let text = "a".repeat(5000);
        let pattern = "*a".repeat(200) + "b";
        assert!(!matches(pattern.as_bytes(), text.as_bytes()));
        let text = "a/".repeat(3000);
        let pattern = "**/a/".repeat(100) + "b";
        assert!(!matches(pattern.as_bytes(), text.as_bytes()));
    }
}
