//! Loads the rules files of a folder.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{RuleError, RulesLoadError};
use crate::rule_set::RuleSet;

/// A larger rules file is rejected.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

impl RuleSet {
    /// Adds the `*.rules` files of a folder, sorted by name. A missing folder counts as empty.
    ///
    /// A file with an error in it is skipped and its error returned; a file that cannot be read is an error.
    pub fn add_folder(&mut self, folder: &Path) -> Result<Vec<RuleError>, RulesLoadError> {
        let mut mistakes = Vec::new();
        for path in rule_files(folder)? {
            let text = codex_regular_file::read_text(&path, MAX_FILE_BYTES).map_err(|source| {
                RulesLoadError {
                    path: path.clone(),
                    source,
                }
            })?;
            mistakes.extend(self.add_file(&path.to_string_lossy(), &text).err());
        }
        Ok(mistakes)
    }
}

fn rule_files(folder: &Path) -> Result<Vec<PathBuf>, RulesLoadError> {
    let failed = |source| RulesLoadError {
        path: folder.to_owned(),
        source,
    };
    let entries = match codex_mounts::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "rules")
            && codex_mounts::is_file(&path)
        {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
