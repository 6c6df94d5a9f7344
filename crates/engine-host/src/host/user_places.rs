//! What the user has outside of the program: folders, files, a browser.

use std::path::PathBuf;

use codex_app_server::UserPlaces;
use codex_external_agent::HomeFolders;

use super::EngineHost;
use crate::browser;
use crate::environment::user_home;

impl UserPlaces for EngineHost {
    fn homes(&self) -> HomeFolders {
        HomeFolders {
            user: user_home(),
            ours: self.configuration.startup().home.clone(),
        }
    }

    fn ignore_files(&self) -> Vec<PathBuf> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
        codex_git::ignore_files(
            folder("HOME").as_deref(),
            folder("XDG_CONFIG_HOME").as_deref(),
        )
    }

    fn open_page(&self, url: &str) {
        browser::open_browser(url);
    }
}
