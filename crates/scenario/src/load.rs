//! From a file to a scenario. Every error names the file and the place in it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use thiserror::Error;

use crate::check::{Misfit, check};
use crate::format::Scenario;

/// A file longer than this is no scenario.
const SIZE_LIMIT: u64 = 16 * 1024 * 1024;

/// Why a scenario could not be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read the scenario {}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is too long.
    #[error("{} is longer than {SIZE_LIMIT} bytes", .0.display())]
    TooLong(PathBuf),
    /// The file does not have the shape of a scenario.
    #[error("{name}: {reason}")]
    Malformed {
        /// The file.
        name: String,
        /// Where and why.
        reason: String,
    },
    /// The scenario cannot be played.
    #[error("{name}: {misfit}")]
    Unplayable {
        /// The file.
        name: String,
        /// Where and why.
        misfit: Misfit,
    },
}

impl Scenario {
    /// Reads a scenario: JSON if the name of the file ends in `.json`, otherwise TOML.
    ///
    /// # Errors
    /// The file cannot be read, or what it says is no scenario.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let unreadable = |source| LoadError::Unreadable {
            path: path.to_owned(),
            source,
        };
        if fs::metadata(path).map_err(unreadable)?.len() > SIZE_LIMIT {
            return Err(LoadError::TooLong(path.to_owned()));
        }
        let text = fs::read_to_string(path).map_err(unreadable)?;
        let name = path.display().to_string();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            Self::from_json(&name, &text)
        } else {
            Self::from_toml(&name, &text)
        }
    }

    /// Reads TOML; `name` is for errors.
    ///
    /// # Errors
    /// The text is no scenario.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, LoadError> {
        let scenario = toml::from_str(text).map_err(|error| malformed(name, &error));
        playable(name, scenario?)
    }

    /// Reads JSON; `name` is for errors.
    ///
    /// # Errors
    /// The text is no scenario.
    pub fn from_json(name: &str, text: &str) -> Result<Self, LoadError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let scenario = serde_path_to_error::deserialize(&mut json)
            .map_err(|error| malformed(name, &error))
            .and_then(|scenario| match json.end() {
                Ok(()) => Ok(scenario),
                Err(error) => Err(malformed(name, &error)),
            });
        playable(name, scenario?)
    }
}

fn malformed(name: &str, error: &impl ToString) -> LoadError {
    LoadError::Malformed {
        name: name.to_owned(),
        reason: error.to_string().trim_end().to_owned(),
    }
}

fn playable(name: &str, scenario: Scenario) -> Result<Scenario, LoadError> {
    match check(&scenario) {
        Ok(()) => Ok(scenario),
        Err(misfit) => Err(LoadError::Unplayable {
            name: name.to_owned(),
            misfit,
        }),
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
