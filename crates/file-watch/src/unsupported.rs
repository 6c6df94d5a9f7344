//! Replaces the watcher on systems without an implementation.

use std::io;
use std::path::{Path, PathBuf};

/// Cannot be made on this system.
#[derive(Debug)]
pub struct Watcher(());

/// Cannot be made on this system.
#[derive(Debug)]
pub struct Watch(());

impl Watcher {
    /// # Errors
    /// Always.
    pub fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// # Errors
    /// Always.
    pub fn watch(
        &self,
        _: &Path,
        _: impl FnMut(Vec<PathBuf>) + Send + 'static,
    ) -> io::Result<Watch> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
