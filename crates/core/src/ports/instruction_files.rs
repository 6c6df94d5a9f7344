//! Files in which the user and a project instruct the model.

use std::fmt::Debug;
use std::path::Path;

/// Finds and reads them.
pub trait InstructionFiles: Debug + Send + Sync {
    /// What they say for a working folder; none if they say nothing. Reads files, so that it is
    /// called where that may take its time.
    fn read(&self, cwd: &Path) -> Option<String>;
}
