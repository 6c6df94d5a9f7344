//! Empty folders at paths that commands must not create. The system removes them when their last handle is closed, also if
//! the process that placed them is killed.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use windows_sys::Win32::Foundation::ERROR_SHARING_VIOLATION;
use windows_sys::Win32::Storage::FileSystem::{
    DELETE, FILE_ATTRIBUTE_HIDDEN, FILE_ATTRIBUTE_SYSTEM, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_DELETE_ON_CLOSE, FILE_FLAG_OPEN_REPARSE_POINT,
};

/// Tells placeholders from other empty folders, such as those of git, which are only hidden.
pub const PLACEHOLDER_ATTRIBUTES: u32 = FILE_ATTRIBUTE_HIDDEN | FILE_ATTRIBUTE_SYSTEM;

/// Opens an empty folder so that the system removes it with its last handle.
///
/// # Errors
/// It cannot be opened so, or not with this sharing.
pub fn open_placeholder(path: &Path, share: u32) -> io::Result<File> {
    OpenOptions::new()
        .access_mode(DELETE)
        .share_mode(share)
        .custom_flags(
            FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_DELETE_ON_CLOSE,
        )
        .open(path)
}

/// Whether there is a placeholder at `path`.
#[must_use]
pub fn is_placeholder_at(path: &Path) -> bool {
    let may_be = path.symlink_metadata().is_ok_and(|metadata| {
        metadata.is_dir()
            && metadata.file_attributes() & PLACEHOLDER_ATTRIBUTES == PLACEHOLDER_ATTRIBUTES
    });
    may_be
        && match std::fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            // Wine does not read a folder that somebody holds to remove it.
            Err(error) => error.raw_os_error() == Some(ERROR_SHARING_VIOLATION.cast_signed()),
        }
}

/// Removes a placeholder that nobody holds.
pub(crate) fn remove_if_abandoned(path: &Path) {
    if is_placeholder_at(path) {
        // An error means that it is in use: such a handle excludes others.
        drop(open_placeholder(path, 0));
    }
}
