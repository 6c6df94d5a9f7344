//! Names that other systems take for the same file: `.git`, `.GIT`, and on Windows `.git.` and `.git::$DATA`.

use std::ffi::OsString;
#[cfg(any(windows, test))]
use std::path::Component;
use std::path::{Path, PathBuf};

/// A path in which names are equal if they differ only in case. Names that are not Unicode stay different.
pub(crate) fn without_case(path: &Path) -> PathBuf {
    let fold = |part: &std::ffi::OsStr| match part.to_str() {
        // Some small letters share a capital one.
        Some(name) => OsString::from(name.to_uppercase().to_lowercase()),
        None => part.to_owned(),
    };
    path.iter().map(fold).collect()
}

/// The same, without what Windows removes from names: spaces and dots at the end, and the name of a stream.
#[cfg(any(windows, test))]
pub(crate) fn as_opened_by_windows(path: &Path) -> PathBuf {
    let opened = |part: Component<'_>| match part {
        Component::Normal(name) => {
            let name = name.to_string_lossy();
            let file = name.split(':').next().unwrap_or_default();
            PathBuf::from(file.trim_end_matches(['.', ' ']))
        }
        other => PathBuf::from(other.as_os_str()),
    };
    without_case(&path.components().map(opened).collect::<PathBuf>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_makes_no_difference() {
        for name in ["/w/.GIT/x", "/W/.gIt/X"] {
            assert_eq!(without_case(Path::new(name)), Path::new("/w/.git/x"));
        }
        let long = without_case(Path::new("/w/.agent\u{17f}"));
        assert_eq!(long, Path::new("/w/.agents"));
        assert_ne!(without_case(Path::new("/w/.gi")), Path::new("/w/.git"));
    }

    #[test]
    fn windows_opens_the_same_file_by_many_names() {
        for name in [
            ".git",
            ".Git.",
            ".git . ",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
        ] {
            let path = Path::new("/w").join(name).join("config");
            assert_eq!(
                as_opened_by_windows(&path),
                Path::new("/w/.git/config"),
                "{name}"
            );
        }
    }
}
