//! Names of files as bytes. Windows has none but Unicode: what is not stays with replacements there.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

/// Whether names that differ in case alone usually are the same file.
pub const IGNORES_CASE: bool = cfg!(any(windows, target_os = "macos"));

/// The path with this name.
#[must_use]
pub fn path_of(bytes: &[u8]) -> Cow<'_, Path> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        Cow::Borrowed(Path::new(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(Path::new(text)),
        Cow::Owned(text) => Cow::Owned(text.into()),
    }
}

/// The name with these bytes.
#[must_use]
pub fn os_string(bytes: Vec<u8>) -> OsString {
    #[cfg(unix)]
    return std::os::unix::ffi::OsStringExt::from_vec(bytes);
    #[cfg(not(unix))]
    String::from_utf8_lossy(&bytes).into_owned().into()
}
