//! Everything from outside that configuration depends on, as values. This crate reads neither the
//! environment nor the user's home folder by itself.

use std::path::Path;
use std::path::PathBuf;

use crate::paths::PathBase;
use crate::source::CONFIG_FILE;

/// The surroundings of a process, as far as configuration depends on them.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The home folder of the program, see `resolve_home`.
    pub codex_home: PathBuf,
    /// The home folder of the user: what `~` means.
    pub user_home: Option<PathBuf>,
    /// The folder with `config.toml` and `requirements.toml` for everybody on the machine.
    pub system_folder: Option<PathBuf>,
    /// The older file with managed settings.
    pub managed_config_file: Option<PathBuf>,
    /// What device management says, decoded.
    pub managed_preferences: Option<ManagedPreferences>,
    /// Text of the limits that the account comes with, in the form of `requirements.toml`.
    pub account_requirements: Option<String>,
    /// Variables of the environment.
    pub variables: Variables,
}

/// What device management says.
#[derive(Clone, Debug, Default)]
pub struct ManagedPreferences {
    /// The preference domain.
    pub domain: String,
    /// Text of settings, as in `config.toml`.
    pub config: Option<String>,
    /// Name of the preference with the limits, for messages.
    pub requirements_key: String,
    /// Text of limits, as in `requirements.toml`.
    pub requirements: Option<String>,
}

/// The variables of the environment that settings fall back to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// `OPENAI_BASE_URL`.
    pub openai_base_url: Option<String>,
    /// `CODEX_SQLITE_HOME`.
    pub sqlite_home: Option<String>,
    /// `CODEX_OSS_BASE_URL`.
    pub oss_base_url: Option<String>,
    /// `CODEX_OSS_PORT`.
    pub oss_port: Option<String>,
    /// `CODEX_JS_REPL_NODE_PATH`.
    pub js_repl_node_path: Option<String>,
}

impl Variables {
    /// Asks for every variable by name; blank ones count as unset.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| {
            let value = lookup(name)?.trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        Self {
            openai_base_url: get("OPENAI_BASE_URL"),
            sqlite_home: get("CODEX_SQLITE_HOME"),
            oss_base_url: get("CODEX_OSS_BASE_URL"),
            oss_port: get("CODEX_OSS_PORT"),
            js_repl_node_path: get("CODEX_JS_REPL_NODE_PATH"),
        }
    }
}

impl Environment {
    /// Surroundings with a home folder only.
    pub fn with_home(codex_home: impl Into<PathBuf>) -> Self {
        Self {
            codex_home: codex_home.into(),
            ..Self::default()
        }
    }

    /// The user's settings file.
    pub fn user_config_file(&self) -> PathBuf {
        self.codex_home.join(CONFIG_FILE)
    }

    /// How paths of a layer are read whose relative paths start from a folder.
    pub(crate) fn path_base<'a>(&'a self, folder: &'a Path) -> PathBase<'a> {
        PathBase {
            folder,
            user_home: self.user_home.as_deref(),
        }
    }
}
