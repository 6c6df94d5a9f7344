//! Stores a login between runs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use codex_private_files::secret_file;
use codex_system::file::file_number;
use parking_lot::Mutex;

use crate::auth_file::AuthFile;
use crate::keyring::Keyring;
use crate::settings::StoreKind;
use crate::system_keyring;

/// A store for one login.
#[derive(Debug)]
pub(crate) enum CredentialStore {
    File(PathBuf),
    Memory(Box<Mutex<Option<AuthFile>>>),
    /// The keyring of the system. The file is where logins were before; with `or_file` it also stands in for a keyring
    /// that has no login or does not answer.
    Keyring {
        keyring: Keyring,
        file: PathBuf,
        or_file: bool,
    },
    /// The system has no keyring; every operation fails.
    NoKeyring,
}

/// Identifies a version of the store's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreStamp(Option<(SystemTime, u64)>);

impl CredentialStore {
    pub(crate) fn new(kind: StoreKind, home: &Path) -> Self {
        let entries = match kind {
            StoreKind::Keyring | StoreKind::Auto => system_keyring::entries(),
            StoreKind::File | StoreKind::Ephemeral => None,
        };
        let keyring = entries.map(|entries| Keyring::new(entries, home));
        Self::with_keyring(kind, home, keyring)
    }

    fn with_keyring(kind: StoreKind, home: &Path, keyring: Option<Keyring>) -> Self {
        let file = home.join("auth.json");
        match (kind, keyring) {
            (StoreKind::File, _) | (StoreKind::Auto, None) => Self::File(file),
            (StoreKind::Ephemeral, _) => Self::Memory(Box::default()),
            (StoreKind::Keyring, None) => Self::NoKeyring,
            (StoreKind::Keyring | StoreKind::Auto, Some(keyring)) => Self::Keyring {
                keyring,
                file,
                or_file: kind == StoreKind::Auto,
            },
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
            Self::Keyring {
                keyring,
                file,
                or_file,
            } => match (read_entry(keyring), or_file) {
                (Ok(None) | Err(_), true) => read(file),
                (read, _) => read,
            },
            Self::NoKeyring => Err(no_keyring()),
        }
    }

    /// Replaces the stored login.
    pub(crate) fn save(&self, login: &AuthFile) -> io::Result<()> {
        match self {
            Self::File(path) => replace(path, login),
            Self::Memory(kept) => {
                *kept.lock() = Some(login.clone());
                Ok(())
            }
            Self::Keyring {
                keyring,
                file,
                or_file,
            } => match keyring.save(login.to_compact_text().as_bytes()) {
                Ok(()) => remove(file).map(drop),
                Err(error) if *or_file => {
                    tracing::warn!(
                        "the keyring does not take the login, which is kept in a file: {error}"
                    );
                    replace(file, login)?;
                    // An old login of the keyring would be found before the file.
                    keyring.delete().map(drop)
                }
                Err(error) => Err(error),
            },
            Self::NoKeyring => Err(no_keyring()),
        }
    }

    /// Deletes the stored login. False if there was none.
    pub(crate) fn delete(&self) -> io::Result<bool> {
        match self {
            Self::File(path) => remove(path),
            Self::Memory(login) => {
                let mut login = login.lock();
                Ok(login.take().is_some())
            }
            Self::Keyring { keyring, file, .. } => {
                let (from_keyring, from_file) = (keyring.delete(), remove(file)?);
                Ok(from_keyring? || from_file)
            }
            Self::NoKeyring => Err(no_keyring()),
        }
    }

    /// The version of the content, as far as other processes can change it.
    pub(crate) fn stamp(&self) -> StoreStamp {
        let Self::File(path) = self else {
            return StoreStamp(None);
        };
        let metadata = fs::metadata(path);
        let modified =
            |metadata: &fs::Metadata| Some((metadata.modified().ok()?, file_number(metadata)));
        StoreStamp(metadata.ok().as_ref().and_then(modified))
    }

    /// Locks the store, so that no other process renews the same tokens.
    pub(crate) async fn lock(&self) -> Option<File> {
        match self {
            Self::File(path) | Self::Keyring { file: path, .. } => secret_file::lock(path).await,
            Self::Memory(_) | Self::NoKeyring => None,
        }
    }
}

fn no_keyring() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "there is no keyring that this program can use; set `cli_auth_credentials_store` to `file`",
    )
}

fn replace(path: &Path, login: &AuthFile) -> io::Result<()> {
    secret_file::replace(path, login.to_text().as_bytes())
}

fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn read(path: &Path) -> io::Result<Option<AuthFile>> {
    parse(secret_file::read(path)?)
}

fn read_entry(keyring: &Keyring) -> io::Result<Option<AuthFile>> {
    parse(keyring.load()?)
}

fn parse(text: Option<Vec<u8>>) -> io::Result<Option<AuthFile>> {
    let invalid = |error: String| io::Error::new(io::ErrorKind::InvalidData, error);
    let parsed = text.map(|text| AuthFile::parse(&text).map_err(invalid));
    parsed.transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::tests::MemoryKeyring;

    #[test]
    fn login_file_is_private_and_its_changes_are_noticed() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("new/folder");
        let store = CredentialStore::with_keyring(StoreKind::Auto, &folder, None);
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
    fn memory_forgets_and_a_missing_keyring_is_refused() {
        let memory = CredentialStore::new(StoreKind::Ephemeral, Path::new("/nowhere"));
        let login = AuthFile::with_api_key("key".into());
        memory.save(&login).unwrap();
        assert_eq!(memory.load().unwrap(), Some(login.clone()));
        assert!(memory.delete().unwrap());
        assert_eq!(memory.load().unwrap(), None);
        let keyring =
            CredentialStore::with_keyring(StoreKind::Keyring, Path::new("/nowhere"), None);
        assert!(keyring.load().is_err() && keyring.delete().is_err());
        let error = keyring.save(&login).unwrap_err();
        assert!(error.to_string().contains("cli_auth_credentials_store"));
    }

    #[test]
    fn a_keyring_takes_over_from_the_file() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("auth.json");
        let memory = MemoryKeyring::new(2_560);
        let store = |kind| {
            let keyring = Keyring::new(Box::new(memory.clone()), home.path());
            CredentialStore::with_keyring(kind, home.path(), Some(keyring))
        };
        let login = |key: &str| AuthFile::with_api_key(key.into());
        let in_file = CredentialStore::with_keyring(StoreKind::File, home.path(), None);
        in_file.save(&login("file")).unwrap();
        assert_eq!(store(StoreKind::Keyring).load().unwrap(), None);
        let auto = store(StoreKind::Auto);
        assert_eq!(auto.load().unwrap(), Some(login("file")));
        auto.save(&login("keyring")).unwrap();
        assert!(!file.exists());
        assert_eq!(auto.load().unwrap(), Some(login("keyring")));

        *memory.refused.lock() = Some("new".to_owned());
        assert!(store(StoreKind::Keyring).save(&login("new")).is_err());
        assert_eq!(auto.load().unwrap(), Some(login("keyring")));
        auto.save(&login("new")).unwrap();
        assert!(file.exists());
        assert_eq!(auto.load().unwrap(), Some(login("new")));
        assert!(auto.delete().unwrap());
        assert!(!file.exists() && memory.entries.lock().is_empty());
    }

    #[test]
    fn a_file_that_is_no_login_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("auth.json"), "no json").unwrap();
        let store = CredentialStore::new(StoreKind::File, home.path());
        assert_eq!(store.load().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
