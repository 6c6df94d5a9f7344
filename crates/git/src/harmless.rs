//! How git is asked so that it does nothing else.
//!
//! For whoever runs the program, here or elsewhere: the words of the command and its variables.

use std::ffi::{OsStr, OsString};

/// Nothing that a repository brings along is run, nobody is asked for a password, no lock is
/// taken and nothing comes over the network.
const OPTIONS: [&str; 14] = [
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "diff.external=",
    "-c",
    "core.sshCommand=false",
    "-c",
    "credential.helper=",
    "-c",
    "protocol.allow=never",
];

/// The whole command for a question.
pub fn command<'a>(question: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let options = std::iter::once("git").chain(OPTIONS);
    options.chain(question.iter().copied())
}

/// The variables for it, out of those that are `given`. Where git is told what to work on is left
/// out: it was set by whoever runs a hook, for one, and is about another repository.
pub fn environment(
    given: impl IntoIterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    let own = [("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")];
    let own = own.map(|(name, value)| (name.into(), value.into()));
    given
        .into_iter()
        .filter(|(name, _)| !is_for_git(name) && name != "LC_ALL")
        .chain(own)
}

/// The person's own settings are wanted; those above come before them.
fn is_for_git(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"GIT_") && !name.starts_with(b"GIT_CONFIG")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_before_the_question() {
        let words: Vec<_> = command(&["log", "-1"]).collect();
        assert_eq!(words[..2], ["git", "--no-pager"]);
        assert_eq!(words[words.len() - 2..], ["log", "-1"]);
    }

    #[test]
    fn variables_of_other_repositories_are_left_out() {
        let given = "GIT_DIR=/a GIT_EXTERNAL_DIFF=b GIT_CONFIG_GLOBAL=/c PATH=/bin LC_ALL=de";
        let given = given.split(' ').filter_map(|pair| pair.split_once('='));
        let kept = environment(given.map(|(name, value)| (name.into(), value.into())));
        let kept = kept.map(|(name, value)| format!("{}={}", name.display(), value.display()));
        let expected = [
            "GIT_CONFIG_GLOBAL=/c",
            "PATH=/bin",
            "GIT_TERMINAL_PROMPT=0",
            "LC_ALL=C",
        ];
        assert!(kept.eq(expected));
    }
}
