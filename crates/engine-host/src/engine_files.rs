//! The files that the engine relies on and that sandboxed commands must not change.

use std::sync::Arc;

use codex_config::Config;
use codex_sandbox::{EngineFiles, ProgramFileList, known_service_sockets};

use crate::environment::{user_home, variable};
use crate::user_shell::user_shell;

/// The engine files of this process, which its sessions share.
pub fn engine_files(config: &Config) -> EngineFiles {
    let user_home = user_home();
    let sockets = known_service_sockets(user_home.as_deref(), |name| std::env::var_os(name));
    let program_files = ProgramFileList::default();
    // The engine starts itself and the shell outside of the sandbox.
    let programs = [std::env::current_exe().ok(), Some(user_shell(variable))];
    let programs = programs.into_iter().flatten();
    program_files.add(programs.flat_map(|path| {
        let real = path.canonicalize().ok();
        [Some(path), real].into_iter().flatten()
    }));
    EngineFiles {
        program_files,
        trusted_projects: config.trusted_folders.iter().cloned().collect(),
        service_sockets: sockets.into(),
        hidden_files: Arc::new(config.secrets.hidden_files()),
        ..EngineFiles::of_home(&config.home)
    }
}

/// The engine files for one more session, whose settings may trust further projects.
pub fn of_session(shared: &EngineFiles, config: &Config) -> EngineFiles {
    shared.trusted_projects.add(&config.trusted_folders);
    EngineFiles {
        hidden_files: Arc::new(config.secrets.hidden_files()),
        ..shared.for_another_session()
    }
}
