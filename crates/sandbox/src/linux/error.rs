//! Errors while a process applies the sandbox to itself.

use std::fmt;
use std::path::PathBuf;

use codex_project_markers::PlaceholderError;
use rustix::io::Errno;

/// A step of applying the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfineStep {
    /// Creating a placeholder for a protected path.
    HoldPlaceholder(PathBuf),
    /// Mapping the user in the user namespace.
    MapUser,
    /// Separating the mount namespace from its parent.
    SeparateMounts,
    /// Making a mount read-only.
    MountReadOnly(PathBuf),
    /// Mounting a path.
    Mount(PathBuf),
    /// Creating or applying the Landlock ruleset.
    Landlock,
    /// Adding a Landlock rule for a path.
    LandlockRule(PathBuf),
    /// Setting up the command's own network.
    SetUpNetwork,
    /// Dropping capabilities.
    DropCapabilities,
    /// Building or installing the system call filter.
    FilterSystemCalls,
}

impl fmt::Display for ConfineStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HoldPlaceholder(path) => write!(formatter, "protecting {}", path.display()),
            Self::MapUser => formatter.write_str("mapping the user"),
            Self::SeparateMounts => formatter.write_str("separating the mounts"),
            Self::MountReadOnly(path) => write!(formatter, "making {} read-only", path.display()),
            Self::Mount(path) => write!(formatter, "mounting {}", path.display()),
            Self::Landlock => formatter.write_str("applying Landlock"),
            Self::LandlockRule(path) => {
                write!(formatter, "adding {} to Landlock", path.display())
            }
            Self::SetUpNetwork => formatter.write_str("setting up the network of the command"),
            Self::DropCapabilities => formatter.write_str("dropping capabilities"),
            Self::FilterSystemCalls => formatter.write_str("filtering system calls"),
        }
    }
}

/// The sandbox could not be applied. The command must not be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{step}: {}", std::io::Error::from(*errno))]
pub struct ConfineError {
    /// The step that failed.
    pub step: ConfineStep,
    errno: Errno,
}

impl ConfineError {
    /// The operating system's error number.
    #[must_use]
    pub fn raw_os_error(&self) -> i32 {
        self.errno.raw_os_error()
    }
}

impl From<PlaceholderError> for ConfineError {
    fn from(error: PlaceholderError) -> Self {
        Self {
            step: ConfineStep::HoldPlaceholder(error.path),
            errno: error.errno,
        }
    }
}

/// Adds the step to an error.
pub(super) trait WithStep<T> {
    fn with_step(self, step: impl FnOnce() -> ConfineStep) -> Result<T, ConfineError>;
}

impl<T> WithStep<T> for Result<T, Errno> {
    fn with_step(self, step: impl FnOnce() -> ConfineStep) -> Result<T, ConfineError> {
        self.map_err(|errno| ConfineError {
            step: step(),
            errno,
        })
    }
}

impl<T> WithStep<T> for std::io::Result<T> {
    fn with_step(self, step: impl FnOnce() -> ConfineStep) -> Result<T, ConfineError> {
        self.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
            .with_step(step)
    }
}
