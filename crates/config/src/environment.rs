//! The external inputs of configuration, as values. This crate reads neither environment variables nor the user's home
//! folder by itself.

use std::path::{Path, PathBuf};

use crate::paths::PathBase;
use crate::source::CONFIG_FILE;

/// The external inputs of configuration.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The home folder; see `resolve_home`.
    pub codex_home: PathBuf,
    /// The user's home folder, for `~`.
    pub user_home: Option<PathBuf>,
    /// The machine-wide folder with `config.toml` and `requirements.toml`.
    pub system_folder: Option<PathBuf>,
    /// The older file of managed settings.
    pub managed_config_file: Option<PathBuf>,
    /// The decoded settings from device management.
    pub managed_preferences: Option<ManagedPreferences>,
    /// Requirements of the account, in the format of `requirements.toml`.
    pub account_requirements: Option<String>,
    pub variables: EnvironmentVariables,
}

/// Settings from device management.
#[derive(Clone, Debug, Default)]
pub struct ManagedPreferences {
    pub domain: String,
    /// Settings in the format of `config.toml`.
    pub config: Option<String>,
    /// The name of the preference with the requirements, for messages.
    pub requirements_key: String,
    /// Requirements in the format of `requirements.toml`.
    pub requirements: Option<String>,
}

/// The environment variables that settings fall back to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentVariables {
    /// `OPENAI_BASE_URL`.
    pub openai_base_url: Option<String>,
    /// `CODEX_SQLITE_HOME`.
    pub sqlite_home: Option<String>,
    /// `CODEX_OSS_BASE_URL`.
    pub oss_base_url: Option<String>,
    /// `CODEX_OSS_PORT`.
    pub oss_port: Option<String>,
}

impl EnvironmentVariables {
    /// Looks up all variables; blank ones count as unset.
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
        }
    }
}

impl Environment {
    /// An environment with a home folder only.
    pub fn with_home(codex_home: impl Into<PathBuf>) -> Self {
        Self {
            codex_home: codex_home.into(),
            ..Self::default()
        }
    }

    /// The path of the user's settings file.
    pub fn user_config_file(&self) -> PathBuf {
        self.codex_home.join(CONFIG_FILE)
    }

    /// The absolute form of a path that starts at `folder`, or with `~` in the user's home.
    #[must_use]
    pub fn absolute(&self, folder: &Path, path: &str) -> PathBuf {
        self.path_base(folder).absolute(path)
    }

    /// How to resolve paths of a layer in `folder`.
    pub(crate) fn path_base<'a>(&'a self, folder: &'a Path) -> PathBase<'a> {
        PathBase {
            folder,
            user_home: self.user_home.as_deref(),
        }
    }
}
