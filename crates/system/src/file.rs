//! Modes, kinds and numbers of files. Where files have no modes, functions that set them do nothing.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// Opens so that new files belong to their owner alone: mode 0600.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    with_mode(options, 0o600)
}

/// Creates folders that belong to their owner alone: mode 0700.
pub fn private_folder(builder: &mut DirBuilder) -> &mut DirBuilder {
    with_folder_mode(builder, 0o700)
}

/// Opens so that new files can be read and written by those who can read and write this one, and written by the owner.
/// For copies, which must never be readable for users who may not read the original.
pub fn like<'a>(options: &'a mut OpenOptions, original: &Metadata) -> &'a mut OpenOptions {
    with_mode(options, mode(original) | 0o200)
}

/// Creates folders with the mode of another one, but writable for the owner.
pub fn folder_like<'a>(builder: &'a mut DirBuilder, original: &Metadata) -> &'a mut DirBuilder {
    with_folder_mode(builder, mode(original) | 0o700)
}

/// Opens so that new files belong to their owner alone, who can execute them if somebody can execute this one.
pub fn private_program_like<'a>(
    options: &'a mut OpenOptions,
    original: &Metadata,
) -> &'a mut OpenOptions {
    let mode = if is_executable(original) {
        0o700
    } else {
        0o600
    };
    with_mode(options, mode)
}

/// Opens without waiting for the other end of a pipe, and without making a terminal that of this process.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    options
}

/// Takes the rights of everybody but the owner away. Links are left unchanged.
///
/// # Errors
/// For example, it belongs to another user.
pub fn make_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let Ok(found) = path.symlink_metadata() else {
            return Ok(());
        };
        let mode = found.permissions().mode();
        if (found.is_file() || found.is_dir()) && mode & 0o077 != 0 {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & 0o700))?;
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Lets everybody execute a file.
///
/// # Errors
/// For example, it belongs to another user.
pub fn make_executable(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Gives a file the owner and the group of another one, if this is permitted.
pub fn take_owner(file: &File, model: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let is_same = |own: Metadata| (own.uid(), own.gid()) == (model.uid(), model.gid());
        if !file.metadata().is_ok_and(is_same) {
            // Only an administrator may change the owner.
            let _ = fchown(file, Some(model.uid()), Some(model.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, model);
}

/// Whether somebody may execute the file, by its mode. Files of Windows have none.
#[must_use]
pub fn is_executable(metadata: &Metadata) -> bool {
    mode(metadata) & 0o111 != 0
}

/// Whether this is the device that has no content.
#[must_use]
pub fn is_null_device(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
        metadata.file_type().is_char_device()
            && std::fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == metadata.rdev())
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}

/// Tells a file from another one at the same path: the inode, or on Windows the time of its creation.
#[must_use]
pub fn file_number(metadata: &Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::ino(metadata);
    #[cfg(windows)]
    return std::os::windows::fs::MetadataExt::creation_time(metadata);
}

/// When the entry of a file was last changed. Programs cannot set this time, but for Windows, where it is that of the content.
#[must_use]
pub fn changed_time(metadata: &Metadata) -> SystemTime {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        use std::time::Duration;
        let seconds = Duration::from_secs(u64::try_from(metadata.ctime()).unwrap_or_default());
        let rest = Duration::from_nanos(u64::try_from(metadata.ctime_nsec()).unwrap_or_default());
        SystemTime::UNIX_EPOCH + seconds + rest
    }
    #[cfg(windows)]
    metadata.modified().unwrap_or_else(|_| SystemTime::now())
}

/// Whether a file has further names. Windows does not tell it with the other facts.
#[must_use]
pub fn has_other_names(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    return !metadata.is_dir() && std::os::unix::fs::MetadataExt::nlink(metadata) > 1;
    #[cfg(windows)]
    {
        let _ = metadata;
        false
    }
}

/// The number of a file as its folder lists it, if it does.
#[must_use]
pub fn entry_number(entry: &std::fs::DirEntry) -> Option<u64> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::DirEntryExt::ino(entry));
    #[cfg(windows)]
    {
        let _ = entry;
        None
    }
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

/// The bytes that a user may still write on the disk of a file or folder. Windows tells it in another way.
#[must_use]
pub fn free_space(path: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let found = rustix::fs::statvfs(path).ok()?;
        found.f_bavail.checked_mul(found.f_frsize)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// The error of the system for a folder in place of a file.
#[must_use]
pub fn is_a_directory() -> io::Error {
    #[cfg(unix)]
    return rustix::io::Errno::ISDIR.into();
    #[cfg(not(unix))]
    io::ErrorKind::IsADirectory.into()
}

/// The rights of owner, group and others. None on Windows.
fn mode(metadata: &Metadata) -> u32 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::mode(metadata) & 0o777;
    #[cfg(not(unix))]
    {
        let _ = metadata;
        0
    }
}

fn with_mode(options: &mut OpenOptions, mode: u32) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options
}

fn with_folder_mode(builder: &mut DirBuilder, mode: u32) -> &mut DirBuilder {
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(builder, mode);
    #[cfg(not(unix))]
    let _ = mode;
    builder
}
