//! The keyring of macOS or Windows.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

#[cfg(target_os = "macos")]
use apple_native_keyring_store::keychain::Store;
use keyring_core::{CredentialStore, Entry, Error};
#[cfg(windows)]
use windows_native_keyring_store::Store;

use crate::keyring::KeyringEntries;

/// The name of the service, which all engines share.
const SERVICE: &str = "Codex Auth";

/// The limit of Windows, and one that a login does not reach.
const MAX_ENTRY_BYTES: usize = if cfg!(windows) { 2_560 } else { 1024 * 1024 };

/// On Windows, logins stay on the machine, as files do.
const MODIFIERS: &[(&str, &str)] = if cfg!(windows) {
    &[("persistence", "local")]
} else {
    &[]
};

struct NativeEntries(Arc<CredentialStore>);

/// The entries of this program, if the system has a keyring.
pub(crate) fn entries() -> Option<Box<dyn KeyringEntries>> {
    let store = Store::new().ok()?;
    Some(Box::new(NativeEntries(store)))
}

impl NativeEntries {
    fn entry(&self, account: &str) -> io::Result<Entry> {
        let modifiers: HashMap<&str, &str> = MODIFIERS.iter().copied().collect();
        Entry::new_in_store_with_modifiers(&self.0, SERVICE, account, &modifiers)
            .map_err(io::Error::other)
    }
}

impl std::fmt::Debug for NativeEntries {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("NativeEntries")
    }
}

impl KeyringEntries for NativeEntries {
    fn largest(&self) -> usize {
        MAX_ENTRY_BYTES
    }

    fn get(&self, account: &str) -> io::Result<Option<Vec<u8>>> {
        match self.entry(account)?.get_secret() {
            Ok(secret) => Ok(Some(secret)),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn set(&self, account: &str, secret: &[u8]) -> io::Result<()> {
        let entry = self.entry(account)?;
        entry.set_secret(secret).map_err(io::Error::other)
    }

    fn delete(&self, account: &str) -> io::Result<bool> {
        match self.entry(account)?.delete_credential() {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => Ok(false),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}
