//! Makes paths absolute without following links.

use std::path::{Path, PathBuf};

use codex_protocol::normalize_path;

/// The base for relative paths and `~` in one layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathBase<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) user_home: Option<&'a Path>,
}

impl PathBase<'_> {
    /// The absolute form of a path as written. Without a known home of the user `~` stays a name.
    pub(crate) fn absolute(self, text: &str) -> PathBuf {
        let path = match (text.strip_prefix('~'), self.user_home) {
            (Some(""), Some(home)) => home.to_path_buf(),
            (Some(rest), Some(home)) if rest.starts_with(['/', std::path::MAIN_SEPARATOR]) => {
                home.join(rest.trim_start_matches(['/', std::path::MAIN_SEPARATOR]))
            }
            _ => self.folder.join(text),
        };
        normalize_path(&path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_absolute_by_text() {
        let base = PathBase {
            folder: Path::new("/home/u/.codex"),
            user_home: Some(Path::new("/home/u")),
        };
        let table = [
            ("x.md", "/home/u/.codex/x.md"),
            ("./a/../b", "/home/u/.codex/b"),
            ("../p", "/home/u/p"),
            ("/etc//x/.", "/etc/x"),
            ("/../..", "/"),
            ("~", "/home/u"),
            ("~/n", "/home/u/n"),
            ("~//n", "/home/u/n"),
            ("~other/n", "/home/u/.codex/~other/n"),
            ("", "/home/u/.codex"),
        ];
        for (text, expected) in table {
            assert_eq!(base.absolute(text), Path::new(expected), "{text}");
        }
    }

    #[test]
    fn tilde_is_a_name_without_a_home_folder() {
        let base = PathBase {
            folder: Path::new("/f"),
            user_home: None,
        };
        assert_eq!(base.absolute("~/x"), Path::new("/f/~/x"));
    }
}
