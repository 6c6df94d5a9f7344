//! Variables from which interpreters and loaders take the places of code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::launch_place::LaunchPlace;
use crate::program_file::variable;

const CODE_VARIABLES: [&str; 22] = [
    "BASH_ENV",
    "CLASSPATH",
    "DYLD_INSERT_LIBRARIES",
    "DYLD_LIBRARY_PATH",
    "ENV",
    "GEM_PATH",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LUA_INIT",
    "LUA_PATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "ZDOTDIR",
];

/// The variables with code that something may write. A program that is to run nothing of the kind is started without them.
#[must_use]
pub fn writable_variables(
    place: LaunchPlace<'_>,
    may_write: &dyn Fn(&Path) -> bool,
) -> Vec<OsString> {
    let is_writable = |path: &PathBuf| {
        let real = codex_mounts::canonicalize(path);
        may_write(path) || real.is_ok_and(|real| may_write(&real))
    };
    let found = code_paths(place).into_iter();
    let mut names: Vec<OsString> = found
        .filter(|(_, path)| is_writable(path))
        .map(|(name, _)| name.into())
        .collect();
    names.dedup();
    names
}

/// The paths that variables may name, with the names of the variables.
pub(crate) fn code_paths(place: LaunchPlace<'_>) -> Vec<(&'static str, PathBuf)> {
    let mut paths = Vec::new();
    for name in CODE_VARIABLES {
        let value = variable(place.environment, name).map(|value| value.to_string_lossy());
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            continue;
        };
        // An empty part of a list means the working folder.
        let lists = value.split([':', ';']);
        let words = value.split([' ', ':', ';', ',', '=']);
        let words = words.filter(|word| !word.is_empty());
        for part in lists.chain(words) {
            // Patterns of Lua, and options with a value joined to them.
            let part = part.trim_end_matches("?.lua").trim_start_matches("-I");
            let path = (name, place.cwd.join(part));
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}
