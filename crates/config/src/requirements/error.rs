//! Why requirements cannot be used.

use std::io;
use std::path::PathBuf;

use super::in_force::RequirementSource;
use super::rules::RulesError;

/// Why requirements cannot be used. Nothing is loaded then.
#[derive(Debug, thiserror::Error)]
pub enum RequirementsError {
    /// The file cannot be read.
    #[error("Failed to read requirements file {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The text is not TOML, or a value has the wrong type.
    #[error("Error parsing requirements file {origin}: {message}")]
    Parse {
        /// The source.
        origin: RequirementSource,
        /// The description of the error.
        message: String,
    },
    /// A list of allowed values is empty.
    #[error("field `{field}` cannot be empty (set by {origin})")]
    Empty {
        /// The field.
        field: &'static str,
        /// The source.
        origin: RequirementSource,
    },
    /// The allowed sandbox modes lack read-only.
    #[error("`allowed_sandbox_modes` must include `read-only` (set by {0})")]
    ReadOnlyMissing(RequirementSource),
    /// A pinned feature has another key, or does not exist.
    #[error("invalid `features` requirement `{key}` from {origin}{}", hint(.canonical))]
    Feature {
        /// The key.
        key: String,
        /// The current key, if the feature exists.
        canonical: Option<&'static str>,
        /// The source.
        origin: RequirementSource,
    },
    /// The rules for commands are invalid.
    #[error("invalid rules in requirements (set by {origin}): {reason}")]
    Rules {
        /// The source.
        origin: RequirementSource,
        reason: RulesError,
    },
}

fn hint(canonical: &Option<&'static str>) -> String {
    match canonical {
        Some(key) => format!(": use canonical feature key `{key}`"),
        None => String::new(),
    }
}
