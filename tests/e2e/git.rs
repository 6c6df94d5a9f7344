//! The git program, for tests that need a repository.

use std::path::Path;
use std::process::Command;

use crate::stdout_of;

/// Runs git as somebody, without the settings of who runs the tests. Answers what it printed.
#[track_caller]
pub(crate) fn git(folder: impl AsRef<Path>, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    stdout_of(&output).trim().to_owned()
}
