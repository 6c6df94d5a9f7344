//! Programs that belong to the system.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::program_file::{belongs_to_administrator, may_be_run};

/// Folders with programs of the system, links resolved.
pub const SYSTEM_FOLDERS: [&str; 7] = [
    "/bin",
    "/sbin",
    "/usr",
    "/nix/store",
    "/run/current-system/sw",
    "/opt/homebrew",
    "/opt/local",
];

/// Whether a path with links resolved belongs to the system.
pub(crate) fn is_of_system(real: &Path) -> bool {
    SYSTEM_FOLDERS.iter().any(|folder| real.starts_with(folder)) && belongs_to_administrator(real)
}

/// A search path with the folders of the system first: programs in other folders have no precedence.
#[must_use]
pub fn system_first(path: &OsStr) -> OsString {
    let is_of_system = |folder: &PathBuf| {
        let real = codex_mounts::canonicalize(folder);
        real.is_ok_and(|real| is_of_system(&real))
    };
    let (first, then): (Vec<_>, Vec<_>) = std::env::split_paths(path).partition(is_of_system);
    let all = first.into_iter().chain(then);
    std::env::join_paths(all).unwrap_or_else(|_| path.to_owned())
}

/// The program of the system with this name on the search path, links resolved.
#[must_use]
pub fn system_program(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let folders = path.into_iter().flat_map(std::env::split_paths);
    let folders = folders.filter(|folder| folder.is_absolute());
    let mut files = folders.filter_map(|folder| codex_mounts::canonicalize(folder.join(name)).ok());
    files.find(|file| {
        is_of_system(file)
            && file
                .metadata()
                .is_ok_and(|about| about.is_file() && may_be_run(&about))
    })
}
