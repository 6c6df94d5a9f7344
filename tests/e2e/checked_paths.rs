//! Code that meets paths of others uses the functions of `codex-mounts`, which refuse a dead file system.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::repository;

/// The crates whose paths come from requests, projects, settings and models.
const CRATES: [&str; 20] = [
    "acp",
    "app-server",
    "apply-patch",
    "checkpoints",
    "config",
    "core",
    "exec-policy",
    "external-agent",
    "file-search",
    "file-system",
    "file-watch",
    "gate",
    "git",
    "hooks",
    "plugins",
    "program-files",
    "sandbox",
    "session-base",
    "skills",
    "tools",
];

/// Functions that wait for the file system.
const WAITING_CALLS: [&str; 8] = [
    "dunce::canonicalize(",
    " fs::metadata(",
    " std::fs::metadata(",
    "fs::symlink_metadata(",
    "fs::read_dir(",
    " fs::read_to_string(",
    "std::fs::read_to_string(",
    ".try_exists()",
];

/// Files that use them, and why they may.
const ALLOWED_CALLS: [(&str, &str); 9] = [
    (
        "app-server/src/handlers/remote_control.rs",
        "the name of the host, and the home folder",
    ),
    (
        "app-server/src/handlers/server_facts.rs",
        "about the process",
    ),
    ("transport/src/", "sockets and processes"),
    (
        "config/src/home.rs",
        "nothing works without the home folder",
    ),
    (
        "external-agent/src/skills.rs",
        "entries of a folder that was checked",
    ),
    ("plugins/src/windows", "other systems"),
    ("sandbox/src/linux/", "in the process of a command"),
    ("sandbox/src/macos/", "other systems"),
    ("sandbox/src/windows/", "other systems"),
];

#[test]
fn paths_of_others_are_checked_before_they_are_used() {
    let mut problems = BTreeSet::new();
    for name in CRATES {
        let mut folders = vec![repository().join("crates").join(name).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.ends_with("tests") {
                    folders.push(path);
                } else if let Some(shown) = shown(&path) {
                    problems.extend(uses(&path).map(|line| format!("{shown}: {line}")));
                }
            }
        }
    }
    assert!(
        problems.is_empty(),
        "use codex_mounts instead: {problems:#?}"
    );
}

/// The name of a file, unless it is allowed or a test.
fn shown(path: &Path) -> Option<String> {
    let shown = path.strip_prefix(repository().join("crates")).unwrap();
    let shown = shown.to_str().unwrap().replace('\\', "/");
    let is_exempt = ALLOWED_CALLS
        .iter()
        .any(|(place, _)| shown.starts_with(place))
        || shown.ends_with("tests.rs")
        || shown.contains("windows");
    (shown.ends_with(".rs") && !is_exempt).then_some(shown)
}

fn uses(path: &PathBuf) -> impl Iterator<Item = String> {
    let text = fs::read_to_string(path).unwrap();
    let code = text.lines().take_while(|line| {
        let line = line.trim();
        line != "#[cfg(test)]" && !line.starts_with("#[cfg(all(test")
    });
    let waits = |line: &&str| WAITING_CALLS.iter().any(|name| line.contains(name));
    let found: Vec<String> = code
        .filter(waits)
        .map(|line| line.trim().to_owned())
        .collect();
    found.into_iter()
}
