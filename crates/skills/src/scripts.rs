//! Decides whether a skill contains scripts.

use std::fs::DirEntry;
use std::path::Path;

/// A skill with more files is assumed to contain scripts.
const MAX_FILES: usize = 500;

/// File name extensions of scripts.
const ENDINGS: [&str; 22] = [
    "sh", "bash", "zsh", "fish", "py", "pyz", "js", "mjs", "cjs", "ts", "mts", "rb", "pl", "php",
    "lua", "ps1", "psm1", "bat", "cmd", "exe", "jar", "wasm",
];

/// Whether a folder contains anything executable at any depth. Unreadable files count as executable.
pub(crate) fn has_scripts(folder: &Path) -> bool {
    let mut left = MAX_FILES;
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = codex_mounts::read_dir(&folder) else {
            return true;
        };
        for entry in entries {
            let Ok(entry) = entry else { return true };
            let Ok(kind) = entry.file_type() else {
                return true;
            };
            left = left.saturating_sub(1);
            if left == 0 || kind.is_symlink() {
                return true;
            }
            if kind.is_dir() {
                folders.push(entry.path());
            } else if could_run(&entry) {
                return true;
            }
        }
    }
    false
}

fn could_run(entry: &DirEntry) -> bool {
    let path = entry.path();
    let in_scripts = path
        .parent()
        .and_then(Path::file_name)
        .is_some_and(|folder| folder == "scripts");
    let ending = path.extension().and_then(|ending| ending.to_str());
    in_scripts
        || ending.is_some_and(|ending| ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
        || is_executable(entry)
        || names_interpreter(&path)
}

fn is_executable(entry: &DirEntry) -> bool {
    let metadata = entry.metadata();
    metadata.map_or(true, |metadata| {
        codex_system::file::is_executable(&metadata)
    })
}

fn names_interpreter(path: &Path) -> bool {
    codex_regular_file::read_start(path, 2).map_or(true, |start| start == b"#!")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(files: &[(&str, &str)], expected: bool) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(has_scripts(folder.path()), expected, "{files:?}");
    }

    #[test]
    fn texts_and_images_are_no_scripts() {
        check(&[], false);
        check(&[("SKILL.md", "---"), ("references/a.md", "x")], false);
        check(&[("assets/a.png", "x"), ("agents/openai.yaml", "")], false);
    }

    #[test]
    fn executable_files_count_as_scripts() {
        check(&[("SKILL.md", "---"), ("tools/Deep.PY", "")], true);
        check(&[("scripts/data", "x")], true);
        check(&[("go", "#!/bin/sh\n")], true);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_could_lead_anywhere() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/bin/sh", folder.path().join("x.md")).unwrap();
        assert!(has_scripts(folder.path()));
    }
}
