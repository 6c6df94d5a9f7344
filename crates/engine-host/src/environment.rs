//! Environment variables, overridden by the `.env` file in the home folder.
//!
//! The file is read once. It cannot set variables that locate the program's own files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Context as _;
use codex_config::{parse_dotenv, resolve_home};

/// A larger file is ignored.
const MAX_BYTES: u64 = 1024 * 1024;

/// The user's home folder. `HOME` comes first on every system, because tests and tools set it.
pub fn user_home() -> Option<PathBuf> {
    let set = ["HOME", "USERPROFILE"].map(std::env::var_os);
    set.into_iter().flatten().map(PathBuf::from).next()
}

/// The home folder.
pub fn home() -> anyhow::Result<PathBuf> {
    let named = std::env::var_os("CODEX_HOME");
    Ok(resolve_home(named.as_deref(), user_home().as_deref())?)
}

/// A path as messages name it.
pub fn named_path(path: &Path) -> anyhow::Result<&str> {
    let name = path.to_str();
    name.with_context(|| format!("{path:?} is not valid UTF-8, so messages cannot name it"))
}

/// The value of a variable, if it is set and valid Unicode.
pub fn variable(name: &str) -> Option<String> {
    let own = || std::env::var(name).ok();
    from_file().get(name).cloned().or_else(own)
}

/// All variables that are valid Unicode.
pub fn all() -> impl Iterator<Item = (String, String)> {
    let own = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let own = own.filter(|(name, _)| !from_file().contains_key(name));
    own.chain(from_file().clone())
}

fn from_file() -> &'static BTreeMap<String, String> {
    static FILE: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    FILE.get_or_init(|| {
        let read = || {
            let path = home().ok()?.join(".env");
            codex_regular_file::read_text(&path, MAX_BYTES).ok()
        };
        parse_dotenv(&read().unwrap_or_default())
            .into_iter()
            .collect()
    })
}
