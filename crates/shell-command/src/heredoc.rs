//! Parses scripts of plain commands that end with a heredoc.
//!
//! The heredoc is split off before parsing: the text before it is parsed like any other script; the body, which may be
//! long and contain anything, is not parsed.

use crate::bash::{SimpleCommand, plain_commands};

/// A script and the heredoc of its last command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heredoc {
    pub(crate) commands: Vec<SimpleCommand>,
    /// The lines up to the tag, before any expansion.
    pub(crate) body: String,
    /// Whether the tag is quoted, so that bash does not expand the body.
    pub(crate) literal: bool,
}

impl Heredoc {
    pub(crate) fn parse(script: &str) -> Option<Self> {
        let (before, after) = script.split_once("<<")?;
        // `3<<E` and `{x}<<E` redirect another descriptor.
        if before.ends_with(|c: char| c.is_ascii_digit() || "<>&}".contains(c)) {
            return None;
        }
        let (rest, strip_tabs) = match after.strip_prefix('-') {
            Some(rest) => (rest, true),
            None => (after, false),
        };
        let (tag, rest) = rest.split_once('\n')?;
        let (tag, literal) = unquoted_tag(tag.trim_matches([' ', '\t']))?;
        let mut body = String::new();
        let mut lines = rest.split_inclusive('\n');
        loop {
            let line = lines.next()?;
            let line = if strip_tabs {
                line.trim_start_matches('\t')
            } else {
                line
            };
            if line.strip_suffix('\n').unwrap_or(line) == tag {
                break;
            }
            body.push_str(line);
        }
        let nothing_follows = lines.all(|line| line.trim_matches([' ', '\t', '\n']).is_empty());
        let commands = nothing_follows.then(|| plain_commands(before)).flatten()?;
        Some(Self {
            commands,
            body,
            literal,
        })
    }
}

/// The tag, and whether it is quoted. Accepts only plain names, because bash parses other tags by special rules.
fn unquoted_tag(source: &str) -> Option<(&str, bool)> {
    let quoted = ['\'', '"']
        .into_iter()
        .find_map(|quote| source.strip_prefix(quote)?.strip_suffix(quote));
    let tag = quoted.unwrap_or(source);
    let is_name = !tag.is_empty()
        && tag
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    is_name.then_some((tag, quoted.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, expected: Option<(&str, &str, bool)>) {
        let found = Heredoc::parse(script);
        let found = found.as_ref().map(|heredoc| {
            let commands: Vec<String> = heredoc
                .commands
                .iter()
                .map(|command| command.texts().join(" "))
                .collect();
            (commands.join(" + "), heredoc.body.as_str(), heredoc.literal)
        });
        let found = found
            .as_ref()
            .map(|(commands, body, literal)| (commands.as_str(), *body, *literal));
        assert_eq!(found, expected, "{script:?}");
    }

    #[test]
    fn the_last_commands_heredoc() {
        check("cat <<E\na $x\nE", Some(("cat", "a $x\n", false)));
        check("cat<<'E'\na\nE\n\n", Some(("cat", "a\n", true)));
        check(
            "cd a &&\ncat x << \"E_1\" \nE\nE_1\n",
            Some(("cd a + cat x", "E\n", true)),
        );
        check(
            "cat <<-E\n\t\ta\n\t b\n\tE\n",
            Some(("cat", "a\n b\n", false)),
        );
        check("cat <<E\nE", Some(("cat", "", false)));
    }

    #[test]
    fn scripts_without_a_complete_heredoc_are_rejected() {
        for script in [
            "cat",
            "cat <<E",
            "cat <<E\na",
            "cat <<E\na\n E",
            "cat <<E\na\nE\nls",
            "cat <<E | wc\nE",
            "cat <<E > f\nE",
            "cat <<E && ls\nE",
            "cat 3<<E\nE",
            "cat {x}<<E\nE",
            "cat <<<E\nE",
            "cat << $x\n$x",
            "cat <<'a b'\na b",
            "cat <<\nx\n",
            "cat > f <<E\nE",
            "X=1 cat <<E\nE",
            "echo \"a <<E\nE\nE",
            "(cat <<E\nE\n)",
            "<<E\nE",
            "cat <<A <<B\nA\nB",
            "cat <<\\E\nE",
            "cat # <<E\nE",
        ] {
            check(script, None);
        }
    }
}
