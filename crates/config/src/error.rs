//! Errors of loading the configuration.

use std::path::PathBuf;
use std::{fmt, io};

use crate::key_path::KeyPathError;
use crate::locate::TextRange;
use crate::overrides::OverrideError;
use crate::requirements::{RequirementViolation, RequirementsError};

/// Why the configuration could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A settings file exists but cannot be read.
    #[error("Failed to read config file {path}: {source}", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A settings file has a syntax error or an invalid value.
    #[error(transparent)]
    File(Box<FileError>),
    /// A settings file of a trusted project is not valid TOML.
    #[error("Error parsing project config file {path}: {error}", path = error.path.display())]
    ProjectFile { error: Box<FileError> },
    /// A setting is invalid that is not in a file, or only after merging the layers.
    #[error(transparent)]
    Setting(SettingError),
    /// The chosen profile does not exist.
    #[error("config profile `{0}` not found")]
    ProfileNotFound(String),
    /// The chosen model provider does not exist.
    #[error("Model provider `{0}` not found")]
    ProviderNotFound(String),
    /// A file that a setting names cannot be used.
    #[error(transparent)]
    ReferencedFile(#[from] ReferencedFileError),
    /// The requirements cannot be used.
    #[error(transparent)]
    Requirements(#[from] RequirementsError),
    /// An explicitly requested value is not allowed.
    #[error(transparent)]
    RequirementViolation(#[from] RequirementViolation),
    /// There are unknown settings, which are to be an error.
    #[error(transparent)]
    Unknown(UnknownSettings),
    /// A flag is invalid.
    #[error("error parsing -c overrides: {0}")]
    Override(#[from] OverrideError),
}

impl ConfigError {
    pub(crate) fn in_file(
        path: PathBuf,
        range: TextRange,
        message: String,
        key_path: Option<String>,
    ) -> Self {
        Self::File(Box::new(FileError {
            path,
            range,
            setting: SettingError { message, key_path },
        }))
    }

    pub(crate) fn in_table(message: String, key_path: Option<String>) -> Self {
        Self::Setting(SettingError { message, key_path })
    }

    /// An error about a setting without a known position.
    pub(crate) fn setting(message: impl Into<String>) -> Self {
        Self::in_table(message.into(), None)
    }

    /// The position in a file, if the error has one.
    pub fn place(&self) -> Option<&FileError> {
        match self {
            Self::File(error) | Self::ProjectFile { error } => Some(error),
            _ => None,
        }
    }
}

/// An error in a file, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    pub path: PathBuf,
    pub range: TextRange,
    pub setting: SettingError,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.range.start;
        let path = self.path.display();
        write!(
            f,
            "{path}:{}:{}: {}",
            start.line, start.column, self.setting
        )
    }
}

impl std::error::Error for FileError {}

/// All unknown settings, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSettings(pub(crate) Vec<String>);

impl fmt::Display for UnknownSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for UnknownSettings {}

/// An error about a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    pub message: String,
    /// The dotted path of the setting; `None` if there is no single one.
    pub key_path: Option<String>,
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.key_path {
            Some(path) => write!(f, "\nin `{path}`"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SettingError {}

/// Why a file that a setting names cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReferencedFileError {
    /// The file cannot be read.
    #[error("failed to read {what} file {path}: {source}", path = path.display())]
    Read {
        /// The purpose of the file.
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The file is empty.
    #[error("{what} file is empty: {path}", path = path.display())]
    Empty {
        /// The purpose of the file.
        what: &'static str,
        path: PathBuf,
    },
}

impl From<KeyPathError> for ConfigError {
    fn from(error: KeyPathError) -> Self {
        Self::setting(error.to_string())
    }
}
