//! Links, and whether two paths lead to the same file, so that one is not truncated for the other.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

/// A path and what is there.
type Found<'a> = (&'a Path, &'a Metadata);

/// Whether two files are the same one.
#[must_use]
pub fn are_same_files(one: Found<'_>, other: Found<'_>) -> bool {
    #[cfg(unix)]
    return are_same(one.1, other.1);
    // Unless this is known they count as the same: nothing is lost then.
    #[cfg(windows)]
    return same_file::is_same_file(one.0, other.0).unwrap_or(true);
}

/// Whether two links are the same one.
#[must_use]
pub fn are_same_links(one: Found<'_>, other: Found<'_>) -> bool {
    #[cfg(unix)]
    return are_same(one.1, other.1);
    // Links have no numbers of their own: their paths are compared.
    #[cfg(windows)]
    {
        let place = |link: &Path| {
            let folder = dunce::canonicalize(link.parent()?).ok()?;
            Some(folder.join(link.file_name()?.to_ascii_lowercase()))
        };
        place(one.0) == place(other.0)
    }
}

#[cfg(unix)]
fn are_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Creates a link to where another one leads.
///
/// # Errors
/// There is something already, or links may not be created.
pub fn copy(link: &Path, destination: &Path) -> io::Result<()> {
    let target = fs::read_link(link)?;
    #[cfg(unix)]
    return std::os::unix::fs::symlink(target, destination);
    #[cfg(windows)]
    if fs::metadata(link).is_ok_and(|at| at.is_dir()) {
        std::os::windows::fs::symlink_dir(target, destination)
    } else {
        std::os::windows::fs::symlink_file(target, destination)
    }
}
