//! Errors as they are answered.

use std::io;

use codex_exec::SpawnError;
use codex_file_system::FileError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Why a request was refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    code: i64,
    message: String,
    /// What kind of failure it was, for programs.
    kind: Option<String>,
}

impl Refusal {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            kind: None,
        }
    }

    /// The request is wrong in its order or its values.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(-32600, message)
    }

    pub(crate) fn unknown_method(method: &str) -> Self {
        Self::new(-32601, format!("unknown method `{method}`"))
    }

    /// The params do not have the form that the method wants.
    pub(crate) fn params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(-32603, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(-32004, message)
    }

    pub(crate) fn in_use(message: impl Into<String>) -> Self {
        Self::new(-32010, message)
    }

    fn of_kind(self, kind: &str) -> Self {
        Self {
            kind: Some(kind.to_owned()),
            ..self
        }
    }

    /// The sandbox that was asked for cannot be enforced.
    pub(crate) fn sandbox(message: impl Into<String>) -> Self {
        Self::failed(message).of_kind("sandboxUnavailable")
    }

    /// The `error` member of a reply.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(kind) = &self.kind {
            error["data"] = json!({ "kind": kind });
        }
        error
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::not_found(error.to_string()),
            io::ErrorKind::InvalidInput => Self::invalid(error.to_string()),
            _ => Self::failed(error.to_string()),
        }
    }
}

impl From<FileError> for Refusal {
    fn from(error: FileError) -> Self {
        match error {
            FileError::System(error) => error.into(),
            other => Self::invalid(other.to_string()),
        }
    }
}

impl From<SpawnError> for Refusal {
    fn from(error: SpawnError) -> Self {
        let message = error.to_string();
        match error {
            SpawnError::EmptyCommand | SpawnError::TooLong => Self::params(message),
            SpawnError::Command(error) => Self::failed(message).of_kind(match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "spawnNotFound",
                io::ErrorKind::PermissionDenied => "spawnPermissionDenied",
                _ => "spawnFailed",
            }),
            SpawnError::Confinement(_) => Self::failed(message).of_kind("sandboxPreparation"),
            SpawnError::TooSlow | SpawnError::Supervisor(_) => {
                Self::failed(message).of_kind("spawnFailed")
            }
        }
    }
}
