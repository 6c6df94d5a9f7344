//! Why an edit was not made.

use std::io;

use crate::error::ConfigError;
use crate::key_path::KeyPathError;
use crate::value::ValueError;

/// Why an edit was not made.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The request names another file than the user's.
    #[error("Only writes to the user config are allowed")]
    Readonly,
    /// The file has changed since the version that the request names.
    #[error("Configuration was modified since last read. Fetch latest version and retry.")]
    VersionConflict,
    /// The key path is invalid.
    #[error(transparent)]
    KeyPath(#[from] KeyPathError),
    /// The value cannot be written as TOML.
    #[error("invalid value: {0}")]
    Value(#[from] ValueError),
    /// The settings would be invalid after the edit.
    #[error("Invalid configuration: {0}")]
    Invalid(String),
    /// Neither the setting to remove nor its table exists.
    #[error("Path not found")]
    PathNotFound,
    /// The current settings cannot be read.
    #[error("failed to load configuration: {0}")]
    Load(#[from] ConfigError),
    /// The file cannot be written.
    #[error("failed to persist config.toml: {0}")]
    Persist(#[from] io::Error),
}

/// The class of an error, for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditErrorKind {
    /// The request names another file than the user's.
    LayerReadonly,
    /// The file has changed since the version that the request names.
    VersionConflict,
    /// The edit or its result is invalid.
    Validation,
    /// The setting to remove does not exist.
    PathNotFound,
    /// An error that the client did not cause.
    Internal,
}

impl EditError {
    pub fn kind(&self) -> EditErrorKind {
        match self {
            Self::Readonly => EditErrorKind::LayerReadonly,
            Self::VersionConflict => EditErrorKind::VersionConflict,
            Self::KeyPath(_) | Self::Value(_) | Self::Invalid(_) => EditErrorKind::Validation,
            Self::PathNotFound => EditErrorKind::PathNotFound,
            Self::Load(_) | Self::Persist(_) => EditErrorKind::Internal,
        }
    }
}
