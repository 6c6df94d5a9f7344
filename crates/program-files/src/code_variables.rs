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

/// Variables that say where programs and settings are, or which program is run. A program that is started has its own, which
/// no line of it sets.
const PLACE_VARIABLES: [&str; 27] = [
    "BROWSER",
    "CDPATH",
    "COMPOSER_HOME",
    "EDITOR",
    "GCONV_PATH",
    "GNUMAKEFLAGS",
    "HOME",
    "LESSCLOSE",
    "LESSOPEN",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPAGER",
    "MFLAGS",
    "PAGER",
    "PATH",
    "PIPX_HOME",
    "PROMPT_COMMAND",
    "PS4",
    "SHELL",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "TCLLIBPATH",
    "UV_PROJECT_ENVIRONMENT",
    "VIRTUAL_ENV",
    "VISUAL",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// What the variables of a program begin with, for programs that take code, settings or other programs from them.
const PROGRAM_PREFIXES: [&str; 20] = [
    "AWK",
    "BASH_FUNC_",
    "BUNDLE_",
    "CARGO_",
    "DENO_",
    "DYLD_",
    "GEM_",
    "GIT_",
    "JAVA_",
    "LD_",
    "LUA_",
    "NODE_",
    "NPM_CONFIG_",
    "OPENSSL_",
    "PERL",
    "PHP",
    "PYTHON",
    "RUBY",
    "RUSTC",
    "npm_config_",
];

/// Of these, what says nothing about code.
const HARMLESS_PREFIXES: [&str; 15] = [
    "CARGO_BUILD_JOBS",
    "CARGO_INCREMENTAL",
    "CARGO_NET_",
    "CARGO_TARGET_DIR",
    "CARGO_TERM_",
    "DENO_NO_",
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_INDEX_FILE",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "NODE_ENV",
    "NODE_NO_",
    "PYTHONHASHSEED",
    "PYTHONUNBUFFERED",
];

/// Variables in which an empty part means the working folder.
const EMPTY_MEANS_HERE: [&str; 4] = ["CLASSPATH", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH"];

/// Whether a variable that a line sets says where code is.
pub(crate) fn places_code(name: &str) -> bool {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    CODE_VARIABLES.contains(&name)
        || PLACE_VARIABLES.contains(&name)
        || (begins(&PROGRAM_PREFIXES) && !begins(&HARMLESS_PREFIXES))
}

/// The places that the value of a variable names; one that is empty means the working folder.
pub(crate) fn places(name: &str, value: &str) -> Vec<String> {
    if value.is_empty() {
        return Vec::new();
    }
    let lists = value.split([':', ';']);
    let lists = lists.filter(|part| !part.is_empty() || EMPTY_MEANS_HERE.contains(&name));
    let words = value.split([' ', ':', ';', ',', '=']);
    let words = words.filter(|word| !word.is_empty());
    let all = lists.chain(words).map(|part| {
        // Patterns of Lua, and options with a value joined to them.
        let part = part.trim_end_matches("?.lua").trim_end_matches("?.so");
        let joined = ["-I", "-r", "-M"]
            .iter()
            .find_map(|option| part.strip_prefix(option));
        joined.unwrap_or(part).to_owned()
    });
    let mut all: Vec<String> = all.collect();
    all.dedup();
    all
}

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
