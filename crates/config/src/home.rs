//! Finds the home folder.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Why the home folder cannot be determined.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// `CODEX_HOME` names a path that does not exist.
    #[error("CODEX_HOME points to {0:?}, but that path does not exist")]
    Missing(String),
    /// `CODEX_HOME` does not name a folder.
    #[error("CODEX_HOME points to {0:?}, but that path is not a directory")]
    NotADirectory(String),
    /// `CODEX_HOME` names a path that cannot be accessed.
    #[error("failed to read CODEX_HOME {value:?}: {source}")]
    Read {
        /// The value of the variable.
        value: String,
        source: io::Error,
    },
    /// The links in the path cannot be resolved.
    #[error("failed to canonicalize CODEX_HOME {value:?}: {source}")]
    Canonicalize {
        /// The value of the variable.
        value: String,
        source: io::Error,
    },
    /// Messages and settings cannot name such a path.
    #[error("the home folder {0:?} is not valid UTF-8; set {1} to one that is")]
    NotUtf8(PathBuf, &'static str),
    /// `CODEX_HOME` is not set, and the user's home folder is unknown.
    #[error("Could not find home directory")]
    Unknown,
}

/// The home folder: the value of `CODEX_HOME`, else `.codex` in the user's home folder, which need not exist.
pub fn resolve_home(
    variable: Option<&OsStr>,
    user_home: Option<&Path>,
) -> Result<PathBuf, HomeError> {
    let Some(value) = variable.filter(|value| !value.is_empty()) else {
        let home = user_home.ok_or(HomeError::Unknown)?.join(".codex");
        return utf8(home, "HOME or CODEX_HOME");
    };
    let path = utf8(PathBuf::from(value), "CODEX_HOME")?;
    let value = path.display().to_string();
    let metadata = std::fs::metadata(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => HomeError::Missing(value.clone()),
        _ => HomeError::Read {
            value: value.clone(),
            source,
        },
    })?;
    if !metadata.is_dir() {
        return Err(HomeError::NotADirectory(value));
    }
    let real = dunce::canonicalize(&path);
    let real = real.map_err(|source| HomeError::Canonicalize { value, source })?;
    utf8(real, "CODEX_HOME")
}

fn utf8(path: PathBuf, variable: &'static str) -> Result<PathBuf, HomeError> {
    match path.to_str() {
        Some(_) => Ok(path),
        None => Err(HomeError::NotUtf8(path, variable)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_empty_home_variable_wins_over_the_default() {
        let folder = tempfile::tempdir().unwrap();
        let real = dunce::canonicalize(folder.path()).unwrap();
        let value = real.as_os_str();
        let user = Path::new("/home/u");
        assert_eq!(resolve_home(Some(value), Some(user)).unwrap(), real);
        for variable in [None, Some(OsStr::new(""))] {
            assert_eq!(
                resolve_home(variable, Some(user)).unwrap(),
                user.join(".codex")
            );
        }
        assert!(matches!(resolve_home(None, None), Err(HomeError::Unknown)));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let real = dunce::canonicalize(folder.path()).unwrap().join("real");
        let link = folder.path().join("link");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert_eq!(resolve_home(Some(link.as_os_str()), None).unwrap(), real);
    }

    #[test]
    fn a_bad_variable_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let missing = folder.path().join("missing");
        let text = |path: &Path| {
            resolve_home(Some(path.as_os_str()), None)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            text(&missing),
            format!("CODEX_HOME points to {missing:?}, but that path does not exist"),
        );
        assert!(text(&file).ends_with("but that path is not a directory"));
    }

    #[cfg(unix)]
    #[test]
    fn home_folder_must_be_utf8() {
        use std::os::unix::ffi::OsStrExt as _;
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join(OsStr::from_bytes(b"h\xff"));
        std::fs::create_dir(&real).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let variable = resolve_home(Some(real.as_os_str()), None);
        let linked = resolve_home(Some(link.as_os_str()), None);
        let missing = resolve_home(Some(OsStr::from_bytes(b"/none\xff")), None);
        let user = resolve_home(None, Some(&real));
        for home in [variable, linked, missing, user] {
            assert!(matches!(home, Err(HomeError::NotUtf8(..))), "{home:?}");
        }
    }
}
