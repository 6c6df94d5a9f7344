//! Where a program is started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// Where something is run.
#[derive(Clone, Copy, Debug)]
pub struct LaunchPlace<'a> {
    /// The working folder.
    pub cwd: &'a Path,
    /// The variables.
    pub environment: &'a BTreeMap<OsString, OsString>,
}
