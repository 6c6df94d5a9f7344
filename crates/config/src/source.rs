//! Where a layer of settings comes from.

use std::fmt;
use std::path::{Path, PathBuf};

/// The source of a layer, in order of increasing precedence. Of several projects the nearest to the working folder has
/// the highest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayerSource {
    /// Machine-wide settings.
    System {
        /// The file, which need not exist.
        file: PathBuf,
    },
    /// The user's settings in the home folder. The only layer that is written.
    User {
        /// The file, which need not exist.
        file: PathBuf,
    },
    /// Settings in a `.codex` folder between the project root and the working folder.
    Project { folder: PathBuf },
    /// Command line flags and settings of a request.
    SessionFlags,
    /// The older form of managed settings, in a file of the administrator.
    ManagedFile { file: PathBuf },
    /// The older form of managed settings, from device management.
    ManagedPreferences { domain: String },
}

/// Name of the settings file in a folder.
pub(crate) const CONFIG_FILE: &str = "config.toml";

impl LayerSource {
    /// The file that the layer is read from.
    pub fn file(&self) -> Option<PathBuf> {
        match self {
            Self::System { file } | Self::User { file } | Self::ManagedFile { file } => {
                Some(file.clone())
            }
            Self::Project { folder } => Some(folder.join(CONFIG_FILE)),
            Self::SessionFlags | Self::ManagedPreferences { .. } => None,
        }
    }

    /// The folder of the layer's rules, hooks, skills and agent roles.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::System { file } | Self::User { file } => file.parent(),
            Self::Project { folder } => Some(folder),
            Self::SessionFlags | Self::ManagedFile { .. } | Self::ManagedPreferences { .. } => None,
        }
    }

    /// Whether the layer has precedence over profiles: flags and managed settings do.
    pub(crate) fn beats_profile(&self) -> bool {
        match self {
            Self::SessionFlags | Self::ManagedFile { .. } | Self::ManagedPreferences { .. } => true,
            Self::System { .. } | Self::User { .. } | Self::Project { .. } => false,
        }
    }

    /// The message for a user whose setting this layer overrides.
    pub(crate) fn overridden_message(&self) -> String {
        match self {
            Self::System { file } => {
                format!("Overridden by managed config (system): {}", file.display())
            }
            Self::User { file } => format!("Overridden by user config: {}", file.display()),
            Self::Project { folder } => format!(
                "Overridden by project config: {}",
                folder.join(CONFIG_FILE).display()
            ),
            Self::SessionFlags => "Overridden by session flags".to_owned(),
            Self::ManagedFile { file } => format!(
                "Overridden by legacy managed_config.toml: {}",
                file.display()
            ),
            Self::ManagedPreferences { .. } => {
                "Overridden by legacy managed configuration from MDM".to_owned()
            }
        }
    }
}

impl fmt::Display for LayerSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SessionFlags => f.write_str("flags"),
            Self::ManagedPreferences { domain } => write!(f, "managed preferences {domain}"),
            _ => match self.file() {
                Some(file) => write!(f, "{}", file.display()),
                None => Ok(()),
            },
        }
    }
}
