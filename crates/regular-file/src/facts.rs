//! What a file is beside its content, as far as the system knows it.

use std::fs::Metadata;

/// Tells a file from another one at the same path: the inode, or on Windows the time of its creation.
#[must_use]
pub fn file_number(metadata: &Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::ino(metadata);
    #[cfg(windows)]
    return std::os::windows::fs::MetadataExt::creation_time(metadata);
}

/// The device of a file. Windows does not tell it with the other facts.
#[must_use]
pub fn device_number(metadata: &Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::dev(metadata);
    #[cfg(windows)]
    {
        let _ = metadata;
        0
    }
}

/// Whether somebody may execute the file, by its mode. Files of Windows have none.
#[must_use]
pub fn is_executable(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        metadata.permissions().mode() & 0o111 != 0
    }
    #[cfg(windows)]
    {
        let _ = metadata;
        false
    }
}
