//! Facts about files and users on Unix systems.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::file_rules::FileRules;
use crate::setup_error::SetUpError;

/// Further parts of messages that tell of a denial.
pub(crate) const OWN_DENIAL_MESSAGES: &[&str] = &[];

/// The temporary folder of all users.
pub(crate) const SHARED_TEMPORARY_FOLDER: Option<&str> = Some("/tmp");

/// When a file was last created, renamed or changed. Programs cannot set this time.
pub(crate) fn changed(metadata: &Metadata) -> SystemTime {
    let seconds = Duration::from_secs(u64::try_from(metadata.ctime()).unwrap_or_default());
    let rest = Duration::from_nanos(u64::try_from(metadata.ctime_nsec()).unwrap_or_default());
    SystemTime::UNIX_EPOCH + seconds + rest
}

/// The number of the user, which names folders in `/run` and `/tmp`.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The temporary folder of commands with this environment.
#[must_use]
pub fn temporary_folder(environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    environment.get(OsStr::new("TMPDIR")).map(PathBuf::from)
}

pub(crate) fn set_up(_: &FileRules) -> Result<(), SetUpError> {
    Err(SetUpError::OtherSystem)
}
