//! Loads scenario files. Every error names the file and the position in it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use thiserror::Error;

use crate::check::{ScenarioProblem, check};
use crate::format::Scenario;

/// The maximum size of a scenario file.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Why a scenario could not be loaded.
#[derive(Debug, Error)]
pub enum ScenarioError {
    #[error("cannot read the scenario {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The file exceeds the maximum size.
    #[error("{} is longer than {MAX_BYTES} bytes", .0.display())]
    TooLong(PathBuf),
    /// The file does not have the format of a scenario.
    #[error("{name}: {reason}")]
    Malformed {
        name: String,
        /// The position and the reason.
        reason: String,
    },
    /// The scenario has the right format, but cannot be played.
    #[error("{name}: {problem}")]
    Unplayable {
        name: String,
        /// The position and the reason.
        problem: ScenarioProblem,
    },
}

impl Scenario {
    /// Loads a scenario: JSON if the file name ends in `.json`, otherwise TOML.
    ///
    /// # Errors
    /// The file cannot be read, or is not a valid scenario.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let unreadable = |source| ScenarioError::Unreadable {
            path: path.to_owned(),
            source,
        };
        if fs::metadata(path).map_err(unreadable)?.len() > MAX_BYTES {
            return Err(ScenarioError::TooLong(path.to_owned()));
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

    /// Reads TOML; `name` appears in errors.
    ///
    /// # Errors
    /// The text is not a valid scenario.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ScenarioError> {
        let scenario = toml::from_str(text).map_err(|error| malformed(name, &error));
        playable(name, scenario?)
    }

    /// Reads JSON; `name` appears in errors.
    ///
    /// # Errors
    /// The text is not a valid scenario.
    pub fn from_json(name: &str, text: &str) -> Result<Self, ScenarioError> {
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

fn malformed(name: &str, error: &impl ToString) -> ScenarioError {
    ScenarioError::Malformed {
        name: name.to_owned(),
        reason: error.to_string().trim_end().to_owned(),
    }
}

fn playable(name: &str, scenario: Scenario) -> Result<Scenario, ScenarioError> {
    match check(&scenario) {
        Ok(()) => Ok(scenario),
        Err(problem) => Err(ScenarioError::Unplayable {
            name: name.to_owned(),
            problem,
        }),
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
