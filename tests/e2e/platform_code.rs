//! What systems do differently is decided in one module for each concern, not where it is used.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::repository;

/// Folders and files that may ask for the system, and what about.
const MODULES: [(&str, &str); 20] = [
    ("crates/transport/src/lib.rs", "unix sockets"),
    ("crates/transport/src/peer", "who connects"),
    ("crates/transport/src/unix_socket.rs", "unix sockets"),
    ("crates/apply-patch/src/location.rs", "open folders"),
    ("crates/checkpoints/src/lib.rs", "paths without links"),
    (
        "crates/engine-host/src/system_folder.rs",
        "settings of a machine",
    ),
    ("crates/engine-host/src/user_shell.rs", "shells"),
    ("crates/code-mode/src/kernel/confine", "limits of cells"),
    ("crates/code-mode/src/lib.rs", "processes that fork"),
    (
        "crates/program-files/src/program_file.rs",
        "files of programs",
    ),
    ("crates/exec/src/", "processes and terminals"),
    ("crates/file-watch/src/lib.rs", "watching"),
    ("crates/login/src/system_keyring", "the keyring"),
    ("crates/mounts/src/lib.rs", "mounts"),
    ("crates/project-markers/src/lib.rs", "placeholders"),
    ("crates/regular-file/src/folder.rs", "folders without links"),
    ("crates/rollout/src/lock.rs", "locks"),
    ("crates/sandbox/src/", "the sandbox"),
    ("crates/simulator/src/", "the simulated machine"),
    ("crates/system/src/", "everything small"),
];

#[test]
fn platform_conditions_are_in_few_modules() {
    let mut problems = BTreeSet::new();
    let mut used = BTreeSet::new();
    let mut folders: Vec<_> = fs::read_dir(repository().join("crates"))
        .unwrap()
        .map(|krate| krate.unwrap().path().join("src"))
        .filter(|folder| !folder.starts_with(repository().join("crates/test-support")))
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("tests") {
                folders.push(path.clone());
            }
            let shown = path.strip_prefix(repository()).unwrap().to_string_lossy();
            let Some(line) = first_question(&path) else {
                continue;
            };
            match MODULES.iter().find(|(place, _)| shown.starts_with(place)) {
                Some((place, _)) => drop(used.insert(*place)),
                None => drop(problems.insert(format!("{shown}:{line}"))),
            }
        }
    }
    assert!(
        problems.is_empty(),
        "ask `codex_system`, or move this into a module of its own: {problems:#?}"
    );
    let unused = MODULES.iter().filter(|(place, _)| !used.contains(place));
    assert_eq!(unused.count(), 0, "{used:#?}");
}

/// The first line outside of tests that asks for the system.
fn first_question(path: &Path) -> Option<usize> {
    // Folders cannot be read.
    let text = fs::read_to_string(path).ok()?;
    let code = text.lines().take_while(|line| {
        let line = line.trim();
        line != "#[cfg(test)]" && !line.starts_with("#[cfg(all(test")
    });
    let names = ["unix", "windows", "target_os"];
    let asks = |line: &str| {
        let question = ["cfg(", "cfg!(", "cfg_attr("];
        let condition = question.iter().find_map(|start| line.split_once(start));
        condition.is_some_and(|(_, rest)| names.iter().any(|name| rest.contains(name)))
    };
    code.enumerate()
        .find(|(_, line)| asks(line))
        .map(|(at, _)| at + 1)
}
