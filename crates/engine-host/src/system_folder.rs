//! Where an administrator puts settings for all users of a machine.

use std::path::{Path, PathBuf};

/// The folder of machine-wide settings.
#[cfg(unix)]
pub(crate) fn system_folder() -> Option<PathBuf> {
    Some(PathBuf::from("/etc/codex"))
}

/// The folder of machine-wide settings. The system is asked for it, because a variable could be changed by the user.
#[cfg(windows)]
pub(crate) fn system_folder() -> Option<PathBuf> {
    let data = known_folders::get_known_folder_path(known_folders::KnownFolder::ProgramData)?;
    Some(data.join("OpenAI").join("Codex"))
}

/// The older form of these settings.
#[cfg(unix)]
pub(crate) fn managed_config(_: &Path) -> Option<PathBuf> {
    Some(system_folder()?.join("managed_config.toml"))
}

/// The older form of these settings, in the home folder of this program.
#[cfg(windows)]
pub(crate) fn managed_config(home: &Path) -> Option<PathBuf> {
    Some(home.join("managed_config.toml"))
}
