//! Where a program is started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::line::KnownValues;
use crate::program_file::variable;

/// Where something is run.
#[derive(Clone, Copy, Debug)]
pub struct LaunchPlace<'a> {
    /// The working folder.
    pub cwd: &'a Path,
    /// The variables.
    pub environment: &'a BTreeMap<OsString, OsString>,
}

impl<'a> LaunchPlace<'a> {
    /// What words of lines are filled in with.
    pub(crate) fn known_values(self) -> KnownValues<'a> {
        let repository = self.repository();
        KnownValues {
            variable: Box::new(move |name| self.variable(name)),
            cwd: self.cwd.display().to_string(),
            repository: repository.map(|folder| folder.display().to_string()),
        }
    }

    /// The value of a variable, if it is text.
    pub(crate) fn variable(self, name: &str) -> Option<String> {
        variable(self.environment, name)?
            .to_str()
            .map(str::to_owned)
    }

    /// The folder of the repository around the working folder, as git finds it.
    pub(crate) fn repository(self) -> Option<PathBuf> {
        let cwd = codex_mounts::canonicalize(self.cwd).ok()?;
        let mut folders = cwd.ancestors();
        let is_root = |folder: &&Path| {
            folder.join(".git").join("HEAD").exists() || folder.join(".git").is_file()
        };
        folders.find(is_root).map(Path::to_path_buf)
    }
}
