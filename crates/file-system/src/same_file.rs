//! Whether two paths lead to the same file, so that one must not be truncated for the other.

use std::fs::Metadata;
use std::path::Path;

/// A path and what is there.
type Found<'a> = (&'a Path, &'a Metadata);

#[cfg(unix)]
pub(crate) use unix::are_same as are_same_files;
#[cfg(unix)]
pub(crate) use unix::are_same as are_same_links;
#[cfg(windows)]
pub(crate) use windows::{are_same_files, are_same_links};

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::MetadataExt as _;

    use super::Found;

    pub(crate) fn are_same((_, one): Found<'_>, (_, other): Found<'_>) -> bool {
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }
}

#[cfg(windows)]
mod windows {
    use super::{Found, Path};

    /// Unless this is known they count as the same: nothing is lost then.
    pub(crate) fn are_same_files((one, _): Found<'_>, (other, _): Found<'_>) -> bool {
        same_file::is_same_file(one, other).unwrap_or(true)
    }

    /// Links have no numbers of their own: their paths are compared.
    pub(crate) fn are_same_links((one, _): Found<'_>, (other, _): Found<'_>) -> bool {
        let place = |link: &Path| {
            let folder = dunce::canonicalize(link.parent()?).ok()?;
            Some(folder.join(link.file_name()?.to_ascii_lowercase()))
        };
        place(one) == place(other)
    }
}
