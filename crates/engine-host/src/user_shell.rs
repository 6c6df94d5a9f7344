//! The shell that runs scripts of the user and the model.

use std::path::PathBuf;

/// The user's shell, if its scripts can be parsed, otherwise the usual one.
#[cfg(unix)]
pub(crate) fn user_shell(variable: impl Fn(&str) -> Option<String>) -> PathBuf {
    let known = |path: &PathBuf| {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        matches!(stem, Some("bash" | "zsh" | "sh")) && path.exists()
    };
    let own = variable("SHELL").map(PathBuf::from).filter(known);
    let usual = ["/bin/bash", "/bin/zsh"]
        .map(PathBuf::from)
        .into_iter()
        .find(known);
    own.or(usual).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

/// PowerShell, otherwise the command interpreter. `SHELL` may name another one of them by its path: tools from Unix set
/// it, but to a path of theirs, which does not exist.
#[cfg(windows)]
pub(crate) fn user_shell(variable: impl Fn(&str) -> Option<String>) -> PathBuf {
    let named = |name: &str| variable(name).map(PathBuf::from);
    let own = named("SHELL").filter(|path| {
        let is_shell = path.to_str().is_some_and(codex_shell_command::is_shell);
        is_shell && path.is_absolute() && path.exists()
    });
    let path = variable("PATH").unwrap_or_default();
    let find = |name| found_in(&path, name);
    own.or_else(|| find("pwsh.exe"))
        .or_else(|| find("powershell.exe"))
        .or_else(|| named("COMSPEC"))
        .unwrap_or_else(|| PathBuf::from(r"C:\Windows\System32\cmd.exe"))
}

/// A program in an absolute folder of a search path.
#[cfg(windows)]
fn found_in(search_path: &str, name: &str) -> Option<PathBuf> {
    std::env::split_paths(search_path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}
