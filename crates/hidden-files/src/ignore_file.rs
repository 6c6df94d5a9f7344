//! The file in which a project names what is hidden.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::matcher::PatternList;
use crate::stamp::Stamp;

/// The name of the file, in the syntax of gitignore.
pub const IGNORE_FILE: &str = ".codexignore";

/// A larger file hides everything.
const MAX_BYTES: u64 = 1024 * 1024;

/// The number of files that are kept.
const KEPT_FILES: usize = 64;

/// The files that were read, until they change.
#[derive(Debug, Default)]
pub(crate) struct IgnoreFiles(Mutex<HashMap<PathBuf, ReadFile>>);

/// What was read. Without a stamp it has to be read again.
type ReadFile = (Option<Stamp>, Arc<PatternList>);

impl IgnoreFiles {
    /// The patterns of the file in a folder; none if there is no file.
    pub(crate) fn of_folder(&self, folder: &Path) -> Option<Arc<PatternList>> {
        let path = folder.join(IGNORE_FILE);
        let metadata = match codex_mounts::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                return Some(Arc::new(PatternList::of_project(
                    &path,
                    Err(error.to_string()),
                )));
            }
        };
        let mut known = self.0.lock();
        if let Some((stamp, list)) = known.get(&path)
            && *stamp == Some(Stamp::from_metadata(&metadata))
        {
            return Some(Arc::clone(list));
        }
        let stamp = Stamp::before_reading(&metadata);
        let text = codex_regular_file::read(&path, MAX_BYTES).map_err(|error| error.to_string());
        let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let text = text.as_deref().map_err(Clone::clone);
        let mut list = Arc::new(PatternList::of_project(&path, text));
        match known.get(&path) {
            // The same list means that nothing has to be searched again.
            Some((_, old)) if old.is_like(&list) => list = Arc::clone(old),
            _ if known.len() >= KEPT_FILES => known.clear(),
            _ => {}
        }
        known.insert(path, (stamp, Arc::clone(&list)));
        Some(list)
    }
}
