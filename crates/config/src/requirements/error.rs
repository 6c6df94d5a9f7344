//! Why requirements cannot be used.

use std::io;
use std::path::PathBuf;

use super::in_force::RequirementSource;
use super::rules::RulesError;

/// Why limits cannot be used; nothing is loaded then.
#[derive(Debug, thiserror::Error)]
pub enum RequirementsError {
    /// The file cannot be read.
    #[error("Failed to read requirements file {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The text is not TOML, or has values of a wrong type.
    #[error("Error parsing requirements file {origin}: {message}")]
    Parse {
        /// The source.
        origin: RequirementSource,
        /// What is wrong.
        message: String,
    },
    /// A list that has to allow something is empty.
    #[error("field `{field}` cannot be empty (set by {origin})")]
    Empty {
        /// The field.
        field: &'static str,
        /// The source.
        origin: RequirementSource,
    },
    /// Reading is not among the sandbox modes allowed.
    #[error("`allowed_sandbox_modes` must include `read-only` (set by {0})")]
    ReadOnlyMissing(RequirementSource),
    /// A pinned feature goes by another name, or there is none like it.
    #[error("invalid `features` requirement `{key}` from {origin}{}", hint(.canonical))]
    Feature {
        /// The key.
        key: String,
        /// The name to use.
        canonical: Option<&'static str>,
        /// The source.
        origin: RequirementSource,
    },
    /// The rules for commands are wrong.
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
