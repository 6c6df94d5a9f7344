//! What can go wrong while configuration is loaded.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::key_path::KeyPathError;
use crate::locate::TextRange;
use crate::overrides::OverrideError;
use crate::requirements::RequirementsError;
use crate::requirements::Violation;

/// Why configuration could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A settings file exists but cannot be read.
    #[error("Failed to read config file {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A settings file is wrong at some place: in its syntax, or the value of a setting.
    #[error(transparent)]
    File(Box<FileError>),
    /// A file of a trusted project is not TOML.
    #[error("Error parsing project config file {path}: {error}", path = error.path.display())]
    ProjectFile {
        /// What is wrong, and where.
        error: Box<FileError>,
    },
    /// A setting is wrong that is in no file, or only once the layers are merged.
    #[error(transparent)]
    Setting(SettingError),
    /// The chosen profile is not there.
    #[error("config profile `{0}` not found")]
    ProfileNotFound(String),
    /// The chosen model provider is not there.
    #[error("Model provider `{0}` not found")]
    ProviderNotFound(String),
    /// A file that a setting names cannot be used.
    #[error(transparent)]
    ReferencedFile(#[from] ReferencedFileError),
    /// The limits of the administrator cannot be used.
    #[error(transparent)]
    Requirements(#[from] RequirementsError),
    /// Something explicitly asked for is not allowed.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// A flag is wrong.
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

    /// An error about a setting, with nothing known of its place.
    pub(crate) fn setting(message: impl Into<String>) -> Self {
        Self::in_table(message.into(), None)
    }

    /// The place in a file, if the error is about one.
    pub fn place(&self) -> Option<&FileError> {
        match self {
            Self::File(error) | Self::ProjectFile { error } => Some(error),
            _ => None,
        }
    }
}

/// What is wrong in a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// The place in it.
    pub range: TextRange,
    /// What is wrong there.
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

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    /// What is wrong.
    pub message: String,
    /// The setting, as a dotted path; `None` where no single one is to blame.
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
    /// It cannot be read.
    #[error("failed to read {what} file {path}: {source}", path = path.display())]
    Read {
        /// What the file is for.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no text in it.
    #[error("{what} file is empty: {path}", path = path.display())]
    Empty {
        /// What the file is for.
        what: &'static str,
        /// The file.
        path: PathBuf,
    },
}

impl From<KeyPathError> for ConfigError {
    fn from(error: KeyPathError) -> Self {
        Self::setting(error.to_string())
    }
}
