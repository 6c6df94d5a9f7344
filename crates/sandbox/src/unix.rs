//! Facts about files and users on Unix systems.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// When a file was last created, renamed or changed. Programs cannot set this time.
pub(crate) fn changed(metadata: &Metadata) -> SystemTime {
    let seconds = Duration::from_secs(u64::try_from(metadata.ctime()).unwrap_or_default());
    let rest = Duration::from_nanos(u64::try_from(metadata.ctime_nsec()).unwrap_or_default());
    SystemTime::UNIX_EPOCH + seconds + rest
}

/// Whether everyone may create entries in a folder, so that their origin is unknown.
#[must_use]
pub fn is_shared_folder(folder: &Path) -> bool {
    const STICKY_AND_WRITABLE_BY_OTHERS: u32 = 0o1002;
    std::fs::metadata(folder).is_ok_and(|metadata| {
        metadata.mode() & STICKY_AND_WRITABLE_BY_OTHERS == STICKY_AND_WRITABLE_BY_OTHERS
    })
}

/// The number of the user, which names folders in `/run` and `/tmp`.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}
