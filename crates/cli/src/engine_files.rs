//! The files that the engine relies on and that sandboxed commands must not change.

use std::path::PathBuf;

use codex_config::Config;
use codex_sandbox::{EngineFiles, known_service_sockets};

/// The engine files for the settings of a thread.
pub(crate) fn engine_files(config: &Config) -> EngineFiles {
    let user_home = std::env::var_os("HOME").map(PathBuf::from);
    EngineFiles {
        trusted_projects: config.trusted_folders.clone(),
        service_sockets: known_service_sockets(user_home.as_deref(), |name| std::env::var_os(name)),
        ..EngineFiles::of_home(&config.home)
    }
}
