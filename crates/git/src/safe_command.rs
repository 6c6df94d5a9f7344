//! Command lines and environment variables for git that keep it from running anything else.
//!
//! Enough for commands that do not touch the working tree; those that do need a
//! [`crate::private_git_dir::PrivateGitDir`] too.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Options against programs that a repository configures, password prompts, locks, network access and bare
/// repositories inside of a working tree.
const OPTIONS: [&str; 18] = [
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
    "-c",
    "submodule.recurse=false",
    "-c",
    "safe.bareRepository=explicit",
];

/// Variables take precedence over settings of the repository for single protocols, unlike `protocol.allow`.
pub(crate) const VARIABLES: [(&str, &str); 5] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_EDITOR", "false"),
    ("LC_ALL", "C"),
];

/// The same with the network.
const NETWORK_VARIABLES: [(&str, &str); 4] = [
    ("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh"),
    ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oConnectTimeout=20"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
];

/// Against settings and attributes of the user and the system.
const NO_SETTINGS: [(&str, &str); 4] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
];

/// The command line of a git command.
pub fn command(program: &Path, question: &[&str]) -> Vec<OsString> {
    let options = OPTIONS.iter().chain(question).map(OsString::from);
    std::iter::once(program.as_os_str().to_owned())
        .chain(options)
        .collect()
}

/// Finds git on the search path: the one of the system, if there is one. Otherwise relative folders and folders in the project around `folder` are skipped, as the
/// project could contain a program named `git`.
pub fn program(path: Option<&OsStr>, folder: &Path) -> PathBuf {
    let name = format!("git{}", std::env::consts::EXE_SUFFIX);
    // Commands in the sandbox may write other folders of the search path.
    if let Some(git) = codex_program_files::system_program(&name, path) {
        return git;
    }
    let repository = folder
        .ancestors()
        .filter(|folder| codex_project_markers::has_entry(folder, ".git"))
        // The outermost repository counts: a command could create one inside of the project, so that the project's
        // programs would be outside of it.
        .last();
    let named = repository.unwrap_or(folder);
    let project = codex_mounts::canonicalize(named).unwrap_or_else(|_| named.to_owned());
    let is_git = |file: &PathBuf| match codex_mounts::canonicalize(file) {
        Ok(file) => file.is_file() && !file.starts_with(&project),
        Err(_) => false,
    };
    let found = path.into_iter().flat_map(std::env::split_paths);
    let mut found = found
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&name));
    found
        .find(is_git)
        .unwrap_or_else(|| Path::new("/usr/bin").join(&name))
}

/// The environment for git, made from `given`. Variables that select a repository are removed: they may be set by a
/// hook, for another repository.
pub fn environment(
    given: impl IntoIterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    let own = VARIABLES.map(|(name, value)| (name.into(), value.into()));
    given
        .into_iter()
        .filter(|(name, _)| !is_for_git(name) && name != "LC_ALL")
        .map(|(name, value)| {
            let path = (name == "PATH").then(|| codex_program_files::system_first(&value));
            (name, path.unwrap_or(value))
        })
        .chain(own)
}

/// The environment for git with the network: only common protocols, and no questions.
pub(crate) fn network_environment(
    given: impl IntoIterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    let own = NETWORK_VARIABLES.map(|(name, value)| (name.into(), value.into()));
    environment(given)
        .filter(|(name, _)| !NETWORK_VARIABLES.iter().any(|(own, _)| name == own))
        .chain(own)
}

/// The environment without settings of the user and the system.
pub(crate) fn without_settings(
    given: impl IntoIterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    let own = NO_SETTINGS.map(|(name, value)| (name.into(), value.into()));
    given
        .into_iter()
        .filter(|(name, _)| !name.as_encoded_bytes().starts_with(b"GIT_CONFIG"))
        .chain(own)
}

/// `GIT_CONFIG_*` variables are kept for the user's own settings; the options above override them.
fn is_for_git(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"GIT_") && !name.starts_with(b"GIT_CONFIG")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_before_the_question() {
        let words = command(Path::new("/bin/git"), &["log", "-1"]);
        assert_eq!(words[..2], ["/bin/git", "--no-pager"]);
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
            "GIT_ALLOW_PROTOCOL=none",
            "GIT_NO_LAZY_FETCH=1",
            "GIT_EDITOR=false",
            "LC_ALL=C",
        ];
        assert!(kept.eq(expected));
    }

    #[test]
    fn a_file_of_the_project_is_not_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let (project, other) = (folder.path().join("project"), folder.path().join("other"));
        for folder in [&project.join("bin"), &project.join(".git"), &other] {
            std::fs::create_dir_all(folder).unwrap();
        }
        for folder in [&project.join("bin"), &other] {
            std::fs::write(folder.join("git"), "").unwrap();
        }
        let path = format!(".:bin:{0}/bin:{1}", project.display(), other.display());
        let found = program(Some(OsStr::new(&path)), &project.join("bin"));
        assert_eq!(found, other.join("git"));
        assert_eq!(program(None, &project), Path::new("/usr/bin/git"));
    }
}
