//! Parses the options of git before its subcommand.

use crate::command_words::CommandWord;

/// Options that take the next word as their value.
const WITH_VALUE: [&str; 8] = [
    "-C",
    "-c",
    "--attr-source",
    "--config-env",
    "--exec-path",
    "--git-dir",
    "--namespace",
    "--work-tree",
];

/// Settings that start no program and rename nothing.
const INERT_SETTINGS: [&str; 7] = [
    "advice.",
    "color.",
    "commit.gpgsign",
    "core.autocrlf",
    "core.quotepath",
    "init.defaultbranch",
    "user.",
];

/// The subcommands of git. Any other name is an alias or an external program.
const SUBCOMMANDS: [&str; 88] = [
    "add",
    "am",
    "annotate",
    "apply",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-ref-format",
    "checkout",
    "checkout-index",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "credential",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "fast-export",
    "fast-import",
    "fetch",
    "filter-branch",
    "for-each-ref",
    "for-each-repo",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "help",
    "index-pack",
    "init",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "maintenance",
    "merge",
    "merge-base",
    "merge-file",
    "merge-tree",
    "mergetool",
    "mv",
    "notes",
    "pull",
    "push",
    "range-diff",
    "read-tree",
    "rebase",
    "reflog",
    "remote",
    "repack",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "send-email",
    "shortlog",
    "show",
    "show-ref",
    "sparse-checkout",
    "stash",
    "status",
    "submodule",
    "switch",
    "symbolic-ref",
    "tag",
    "update-index",
    "update-ref",
    "verify-commit",
    "version",
    "worktree",
    "write-tree",
];

/// A git call without its general options.
#[derive(Debug)]
pub(crate) struct GitCall<'a> {
    /// The subcommand and its arguments.
    pub(crate) subcommand: &'a [CommandWord],
    /// Whether this is certainly the subcommand that runs.
    pub(crate) plain: bool,
}

pub(crate) fn read_git_call(arguments: &[CommandWord]) -> GitCall<'_> {
    let mut plain = true;
    let mut index = 0;
    while let Some(word) = arguments
        .get(index)
        .and_then(CommandWord::text)
        .filter(|word| word.starts_with('-'))
    {
        let value = arguments.get(index + 1).and_then(CommandWord::text);
        match word {
            "-c" => plain &= value.is_some_and(is_inert),
            _ if word.starts_with("--config-env") || word.starts_with("--exec-path=") => {
                plain = false
            }
            _ => {}
        }
        index += if WITH_VALUE.contains(&word) { 2 } else { 1 };
    }
    let subcommand = arguments.get(index..).unwrap_or_default();
    // Without a subcommand git only prints its usage.
    plain &= match subcommand.first() {
        None => true,
        Some(CommandWord::Unknown) => false,
        Some(CommandWord::Fixed(name)) => SUBCOMMANDS.contains(&name.as_str()),
    };
    GitCall { subcommand, plain }
}

fn is_inert(setting: &str) -> bool {
    let name = setting
        .split('=')
        .next()
        .unwrap_or(setting)
        .to_ascii_lowercase();
    INERT_SETTINGS.iter().any(|inert| {
        if inert.ends_with('.') {
            name.starts_with(inert)
        } else {
            name == *inert
        }
    })
}
