//! The files on this machine that rules may refer to by program name.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::prefix::RuleProblem;

/// Maps program names to allowed files. A name without an entry is not restricted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct HostExecutables {
    paths: HashMap<String, Vec<PathBuf>>,
}

impl HostExecutables {
    /// Sets the files for a name and replaces earlier ones.
    pub(crate) fn insert(&mut self, name: &str, paths: Vec<String>) -> Result<(), RuleProblem> {
        let problem = |text: String| Err(RuleProblem::Rule(text));
        if name.is_empty() {
            return problem("the name of a host_executable is missing".to_owned());
        }
        if name.contains(['/', '\\']) {
            return problem(format!(
                "the name of a host_executable has no folder in it (found {name})"
            ));
        }
        for path in &paths {
            if !Path::new(path).is_absolute() {
                return problem(format!(
                    "the paths of a host_executable start at the root (found {path})"
                ));
            }
            if base_name(path) != Some(name) {
                return problem(format!(
                    "host_executable path `{path}` must have basename `{name}`"
                ));
            }
        }
        let paths = paths.into_iter().map(PathBuf::from).collect();
        self.paths.insert(name.to_owned(), paths);
        Ok(())
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.paths.extend(other.paths);
    }

    /// The name by which rules may refer to the program at this absolute path.
    pub(crate) fn name_of<'p>(&self, program: &'p str) -> Option<&'p str> {
        let name = base_name(program).filter(|_| Path::new(program).is_absolute())?;
        match self.paths.get(name) {
            Some(paths) if !paths.iter().any(|path| path == Path::new(program)) => None,
            _ => Some(name),
        }
    }
}

/// The last component of a path.
fn base_name(path: &str) -> Option<&str> {
    Path::new(path).file_name()?.to_str()
}
