//! Replaces the names of the other agent and of its files in texts.

/// The agent's names and ours; longer names first.
const NAMES: [(&str, &str); 6] = [
    ("claude.md", "AGENTS.md"),
    ("claude code", "Codex"),
    ("claude-code", "Codex"),
    ("claude_code", "Codex"),
    ("claudecode", "Codex"),
    ("claude", "Codex"),
];

/// Replaces names that are whole words.
pub(crate) fn rename(text: &str) -> String {
    let mut renamed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let before = renamed_from(text, rest);
        let found = NAMES.iter().find(|(theirs, _)| {
            let end = theirs.len();
            rest.get(..end)
                .is_some_and(|name| name.eq_ignore_ascii_case(theirs))
                && !before.is_some_and(is_of_word)
                && !rest[end..].chars().next().is_some_and(is_of_word)
        });
        let length = match found {
            Some((theirs, ours)) => {
                renamed.push_str(ours);
                theirs.len()
            }
            None => {
                renamed.push(next);
                next.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    renamed
}

/// The character before `rest`.
fn renamed_from(text: &str, rest: &str) -> Option<char> {
    text[..text.len() - rest.len()].chars().next_back()
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_renamed_and_nothing_else() {
        for (text, expected) in [
            ("Ask Claude.", "Ask Codex."),
            ("see CLAUDE.md and claude code", "see AGENTS.md and Codex"),
            (
                "Claude-Code, claude_code, ClaudeCode",
                "Codex, Codex, Codex",
            ),
            (
                "claudette, xclaude, claude_x",
                "claudette, xclaude, claude_x",
            ),
            (
                "\u{e9}claude claude\u{e9} claude",
                "\u{e9}claude claude\u{e9} Codex",
            ),
            ("", ""),
        ] {
            assert_eq!(rename(text), expected);
        }
    }
}
