//! What the settings of a git repository lead to: programs and further settings.
//!
//! The settings of the repository around the working folder are safe from commands, but they may name files that are not:
//! filters, converters, aliases, hooks, included settings. The files themselves do not count, because ordinary use of git
//! changes them; what they name does. Repositories in the index (submodules) have settings that commands may write, and git
//! runs what they say, so these count.

use std::path::{Path, PathBuf};

use crate::program_file::may_be_run;

/// Larger files are not read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Commands of git that run few hooks.
pub(crate) const READING_GIT: [&str; 22] = [
    "blame",
    "branch",
    "cat-file",
    "check-ignore",
    "config",
    "describe",
    "diff",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "remote",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "status",
    "symbolic-ref",
    "version",
];
/// How many files of settings are read.
const MAX_FILES: usize = 64;

/// What is in a repository.
#[derive(Debug, Default)]
pub(crate) struct GitSettings {
    /// The settings, by their names without sections.
    pub(crate) values: Vec<(String, String)>,
    /// Files of settings that others include.
    pub(crate) included: Vec<PathBuf>,
    /// Hooks that may run.
    pub(crate) hooks: Vec<PathBuf>,
    /// The folders of repositories in the index.
    pub(crate) inner: Vec<PathBuf>,
    /// The index cannot be read.
    pub(crate) is_unreadable: bool,
}

/// Where git finds settings that belong to no repository.
#[derive(Debug, Default)]
pub(crate) struct GitPlaces {
    pub(crate) home: Option<PathBuf>,
    /// Files of settings.
    pub(crate) files: Vec<PathBuf>,
    /// Settings and commands in variables.
    pub(crate) values: Vec<String>,
}

impl GitPlaces {
    /// The places that variables name.
    pub(crate) fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        const FILES: [&str; 4] = [
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_SYSTEM",
            "HOME",
            "XDG_CONFIG_HOME",
        ];
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let home = variable("HOME").map(PathBuf::from);
        let mut files = vec![PathBuf::from("/etc/gitconfig")];
        files.extend(home.iter().map(|home| home.join(".config/git/config")));
        files.extend(
            FILES
                .iter()
                .filter_map(|name| settings_file(name, &variable(name)?)),
        );
        let numbers = (0..MAX_FILES).map(|number| format!("GIT_CONFIG_VALUE_{number}"));
        let commands = COMMANDS.iter().map(|name| (*name).to_owned());
        let values = commands.chain(numbers).filter_map(|name| variable(&name));
        Self {
            home,
            files,
            values: values.collect(),
        }
    }
}

/// Variables with settings of git, or with commands that it runs.
const COMMANDS: [&str; 11] = [
    "EDITOR",
    "GIT_ASKPASS",
    "GIT_CONFIG_PARAMETERS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "PAGER",
];

/// The file of settings that a variable names.
pub(crate) fn settings_file(name: &str, value: &str) -> Option<PathBuf> {
    match name {
        "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM" => Some(PathBuf::from(value)),
        "HOME" => Some(Path::new(value).join(".gitconfig")),
        "XDG_CONFIG_HOME" => Some(Path::new(value).join("git/config")),
        _ => None,
    }
}

/// Reads the settings for a repository. `only_reads`: whether git runs few hooks.
pub(crate) fn git_settings(root: &Path, places: &GitPlaces, only_reads: bool) -> GitSettings {
    let home = places.home.as_deref();
    let mut found = GitSettings::default();
    let folder = git_folder(root);
    let common = common_folder(&folder);
    let mut files = vec![common.join("config"), folder.join("config.worktree")];
    files.extend(places.files.iter().map(|file| root.join(file)));
    let own = files.len();
    let mut hooks = common.join("hooks");
    let mut index = 0;
    while let Some(file) = files.get(index).cloned().filter(|_| index < MAX_FILES) {
        let text = read(&file).unwrap_or_default();
        for (key, value) in settings(&String::from_utf8_lossy(&text)) {
            let below = |folder: &Path| match value.strip_prefix("~/").zip(home) {
                Some((rest, home)) => home.join(rest),
                None => folder.join(&value),
            };
            match key.as_str() {
                "path" => files.push(below(file.parent().unwrap_or(root))),
                "hookspath" => hooks = below(root),
                _ => {}
            }
            found.values.push((key, value));
        }
        index += 1;
    }
    let variables = places.values.iter().cloned();
    found
        .values
        .extend(variables.map(|value| (String::new(), value)));
    found.included = files.split_off(own.min(files.len()));
    found.hooks = hooks_in(&hooks, only_reads);
    let index = folder.join("index");
    let inner = [20, 32]
        .into_iter()
        .find_map(|hash| inner_repositories(&index, hash));
    match inner {
        Some(inner) => found.inner = inner.into_iter().map(|path| root.join(path)).collect(),
        None => found.is_unreadable = true,
    }
    found
}

/// The folder of git of a repository.
fn git_folder(root: &Path) -> PathBuf {
    let entry = root.join(".git");
    let text = if codex_mounts::is_file(&entry) {
        read(&entry)
    } else {
        None
    };
    let text = text.map(|text| String::from_utf8_lossy(&text).into_owned());
    let target = text
        .as_deref()
        .and_then(|text| text.strip_prefix("gitdir:"));
    target.map_or(entry, |target| root.join(target.trim()))
}

/// The folder that worktrees share.
fn common_folder(folder: &Path) -> PathBuf {
    let text = read(&folder.join("commondir"));
    let text = text.map(|text| String::from_utf8_lossy(&text).into_owned());
    text.map_or_else(|| folder.to_path_buf(), |text| folder.join(text.trim()))
}

fn read(path: &Path) -> Option<Vec<u8>> {
    codex_mounts::check(path).ok()?;
    codex_regular_file::read(path, MAX_BYTES).ok()
}

/// The keys of settings in small letters, and their values.
fn settings(text: &str) -> Vec<(String, String)> {
    let text = text.replace("\\\n", " ");
    let lines = text.lines().map(|line| {
        line.rsplit_once(']').map_or(line, |(before, after)| {
            if before.trim_start().starts_with('[') {
                after
            } else {
                line
            }
        })
    });
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs
        .map(|(key, value)| {
            let value = without_comment(value).trim();
            let is_quoted = value.len() > 1 && value.starts_with('"') && value.ends_with('"');
            let value = if is_quoted {
                &value[1..value.len() - 1]
            } else {
                value
            };
            (key.trim().to_lowercase(), value.replace("\\\"", "\""))
        })
        .collect()
}

/// A value without the comment behind it.
fn without_comment(value: &str) -> &str {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let end = value.find(|letter| {
        let is_plain = !is_escaped;
        is_escaped = is_plain && letter == '\\';
        is_quoted ^= letter == '"' && is_plain;
        !is_quoted && is_plain && (letter == '#' || letter == ';')
    });
    &value[..end.unwrap_or(value.len())]
}

/// The hooks in a folder that git may run.
fn hooks_in(folder: &Path, only_reads: bool) -> Vec<PathBuf> {
    const OF_READING: [&str; 3] = [
        "fsmonitor-watchman",
        "post-index-change",
        "reference-transaction",
    ];
    let entries = codex_mounts::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten();
    let hooks = entries
        .take(MAX_FILES)
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_hook =
                path.extension().is_none() && (!only_reads || OF_READING.contains(&&*name));
            is_hook
                && codex_mounts::metadata(path)
                    .is_ok_and(|about| about.is_file() && may_be_run(&about))
        });
    let mut hooks: Vec<PathBuf> = hooks.collect();
    hooks.sort();
    hooks
}

/// The paths in an index with hashes of this length that are repositories of their own. None if it is not understood; an index that does not exist has
/// none.
fn inner_repositories(index: &Path, hash: usize) -> Option<Vec<String>> {
    if !codex_mounts::is_file(index) {
        return Some(Vec::new());
    }
    let bytes = read(index)?;
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let version = number(4)?;
    let mut at = 12;
    let mut name = Vec::new();
    let mut found = Vec::new();
    for _ in 0..number(8)? {
        let mode = number(at + 24)?;
        let flags_at = at + 40 + hash;
        let is_extended = version > 2 && bytes.get(flags_at)? & 0x40 != 0;
        let start = flags_at + if is_extended { 4 } else { 2 };
        let path_at = if version == 4 {
            let (drop, next) = shortened_by(&bytes, start)?;
            name.truncate(name.len().checked_sub(drop)?);
            next
        } else {
            name.clear();
            start
        };
        let length = bytes.get(path_at..)?.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(&bytes[path_at..path_at + length]);
        if mode & 0o170_000 == 0o160_000 {
            found.push(String::from_utf8_lossy(&name).into_owned());
        }
        let end = path_at + length + 1;
        at = if version == 4 {
            end
        } else {
            at + (end - at).next_multiple_of(8)
        };
    }
    // The other entries are in another file then.
    let is_split = bytes.get(at..at + 4) == Some(b"link");
    (!is_split).then_some(found)
}

/// How many bytes of the name before are dropped, and where the rest of the name begins.
fn shortened_by(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(byte & 0x7f);
    }
    Some((value, at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_and_setting_may_share_a_line() {
        let text = "[alias] st = \"!./x \\\"a\\\"\"\n[filter \"f\"]\n\tclean = sh ./y ; z\n# z = 1\nhooksPath = \"h # i\" # j\n";
        let expected = [
            ("st", "!./x \"a\""),
            ("clean", "sh ./y"),
            ("# z", "1"),
            ("hookspath", "h # i"),
        ];
        let found = settings(text);
        let found: Vec<_> = found
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        assert_eq!(found, expected);
    }
}
