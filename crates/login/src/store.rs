//! Stores a login between runs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use codex_private_files::secret_file;
use parking_lot::Mutex;

use crate::auth_file::AuthFile;
use crate::settings::StoreKind;

/// A store for one login.
#[derive(Debug)]
pub(crate) enum CredentialStore {
    File(PathBuf),
    Memory(Box<Mutex<Option<AuthFile>>>),
    /// Not implemented; every operation fails.
    Keyring,
}

/// Identifies a version of the store's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreStamp(Option<(SystemTime, u64)>);

impl CredentialStore {
    pub(crate) fn new(kind: StoreKind, home: &Path) -> Self {
        match kind {
            // There is no keyring, so `Auto` uses the file.
            StoreKind::File | StoreKind::Auto => Self::File(home.join("auth.json")),
            StoreKind::Ephemeral => Self::Memory(Box::default()),
            StoreKind::Keyring => Self::Keyring,
        }
    }

    /// Loads the stored login, if any.
    pub(crate) fn load(&self) -> io::Result<Option<AuthFile>> {
        match self {
            Self::File(path) => read(path),
            Self::Memory(login) => {
                let login = login.lock();
                Ok(login.clone())
            }
            Self::Keyring => Err(no_keyring()),
        }
    }

    /// Replaces the stored login.
    pub(crate) fn save(&self, login: &AuthFile) -> io::Result<()> {
        match self {
            Self::File(path) => secret_file::replace(path, login.to_text().as_bytes()),
            Self::Memory(kept) => {
                *kept.lock() = Some(login.clone());
                Ok(())
            }
            Self::Keyring => Err(no_keyring()),
        }
    }

    /// Deletes the stored login. False if there was none.
    pub(crate) fn delete(&self) -> io::Result<bool> {
        match self {
            Self::File(path) => match fs::remove_file(path) {
                Ok(()) => Ok(true),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            },
            Self::Memory(login) => {
                let mut login = login.lock();
                Ok(login.take().is_some())
            }
            Self::Keyring => Err(no_keyring()),
        }
    }

    /// The version of the content, as far as other processes can change it.
    pub(crate) fn stamp(&self) -> StoreStamp {
        let Self::File(path) = self else {
            return StoreStamp(None);
        };
        let metadata = fs::metadata(path);
        let modified =
            |metadata: &fs::Metadata| Some((metadata.modified().ok()?, identity(metadata)));
        StoreStamp(metadata.ok().as_ref().and_then(modified))
    }

    /// Locks the store, so that no other process renews the same tokens.
    pub(crate) async fn lock(&self) -> Option<File> {
        match self {
            Self::File(path) => secret_file::lock(path).await,
            Self::Memory(_) | Self::Keyring => None,
        }
    }
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn identity(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

fn no_keyring() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "this version cannot use the system's keyring; set `cli_auth_credentials_store` to `file`",
    )
}

fn read(path: &Path) -> io::Result<Option<AuthFile>> {
    let Some(text) = secret_file::read(path)? else {
        return Ok(None);
    };
    let invalid = |error: String| io::Error::new(io::ErrorKind::InvalidData, error);
    AuthFile::parse(&text).map(Some).map_err(invalid)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_for_its_owner_only_and_its_change_is_noticed() {
        let home = tempfile::tempdir().unwrap();
        let store = CredentialStore::new(StoreKind::Auto, &home.path().join("new/folder"));
        assert_eq!(store.load().unwrap(), None);
        let before = store.stamp();
        let login = AuthFile::with_api_key("key".into());
        store.save(&login).unwrap();
        assert_eq!(store.load().unwrap(), Some(login.clone()));
        let first = store.stamp();
        assert_ne!(before, first);
        store.save(&login).unwrap();
        assert_ne!(first, store.stamp());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;

            let path = home.path().join("new/folder/auth.json");
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert!(store.delete().unwrap());
        assert!(!store.delete().unwrap());
    }

    #[test]
    fn memory_forgets_and_a_keyring_is_refused() {
        let memory = CredentialStore::new(StoreKind::Ephemeral, Path::new("/nowhere"));
        let login = AuthFile::with_api_key("key".into());
        memory.save(&login).unwrap();
        assert_eq!(memory.load().unwrap(), Some(login.clone()));
        assert!(memory.delete().unwrap());
        assert_eq!(memory.load().unwrap(), None);
        let keyring = CredentialStore::new(StoreKind::Keyring, Path::new("/nowhere"));
        assert!(keyring.load().is_err() && keyring.delete().is_err());
        let error = keyring.save(&login).unwrap_err();
        assert!(error.to_string().contains("cli_auth_credentials_store"));
    }

    #[test]
    fn a_file_that_is_no_login_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("auth.json"), "no json").unwrap();
        let store = CredentialStore::new(StoreKind::File, home.path());
        assert_eq!(store.load().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
