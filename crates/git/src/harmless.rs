//! How git is asked so that it does nothing else.
//!
//! For whoever runs the program, here or elsewhere: the words of the command and its variables. What touches the working
//! tree needs more, a [`crate::private::PrivateGitDir`].

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Nothing that a repository brings along is run, nobody is asked for a password, no lock is taken, nothing comes over
/// the network, and a folder that only looks like a repository is none.
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

/// A setting of the repository for one protocol would count for more than the option above.
pub(crate) const VARIABLES: [(&str, &str); 5] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_EDITOR", "false"),
    ("LC_ALL", "C"),
];

/// The whole command for a question.
pub fn command(program: &Path, question: &[&str]) -> Vec<OsString> {
    let options = OPTIONS.iter().chain(question).map(OsString::from);
    std::iter::once(program.as_os_str().to_owned())
        .chain(options)
        .collect()
}

/// The git program on the path, as it is without the folders that depend on where one is, and those in the project
/// around `folder`: a file called `git` there is not it.
pub fn program(path: Option<&OsStr>, folder: &Path) -> PathBuf {
    let name = format!("git{}", std::env::consts::EXE_SUFFIX);
    let project = folder
        .ancestors()
        .filter(|folder| codex_sandbox::has_entry(folder, ".git"))
        // A command could make a repository around the folder, with the project's programs outside of it.
        .last();
    let project = project.unwrap_or(folder);
    let project = project
        .canonicalize()
        .unwrap_or_else(|_| project.to_owned());
    let is_git = |file: &PathBuf| match file.canonicalize() {
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

/// The variables for it, out of those that are `given`. Where git is told what to work on is left
/// out: it was set by whoever runs a hook, for one, and is about another repository.
pub fn environment(
    given: impl IntoIterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    let own = VARIABLES.map(|(name, value)| (name.into(), value.into()));
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
#[allow(clippy::unwrap_used)]
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
