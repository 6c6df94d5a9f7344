//! Paths on Linux: how they compare, which the system has, and opening resolved ones.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Names that differ are different files.
pub(crate) fn comparable(path: &Path) -> Cow<'_, Path> {
    Cow::Borrowed(path)
}

/// The folders of programs and libraries.
pub(crate) const PLATFORM_DEFAULTS: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr",
    "/etc",
    "/lib",
    "/lib64",
    "/nix/store",
    "/run/current-system/sw",
];

/// Paths without links are stored as they are written.
pub(crate) fn as_stored(path: PathBuf) -> PathBuf {
    path
}

/// Opens a path without following links (with suitable `flags` the last component may be a link, which is opened itself).
/// The path was resolved before, so a link in it now was created to escape.
pub(super) fn open_without_links(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)
}
