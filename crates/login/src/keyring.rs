//! A login in the keyring of the system, in as many entries as its size needs.
//!
//! The credential manager of Windows limits an entry to 2,560 bytes, and the tokens of a login are longer. What does not fit
//! is cut: the parts are written first, under new names, and then the entry of the account is replaced, which names them. So
//! there is always one whole login. Keyrings without a limit have the whole login in one entry, as other engines write it.

use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// The most parts of a login.
const MAX_PARTS: usize = 64;

/// What the entry of an account begins with if the login is in parts. A login begins with a brace.
const PARTS: &str = "parts ";

/// The entries of one service in a keyring.
pub(crate) trait KeyringEntries: std::fmt::Debug + Send + Sync {
    /// The most bytes of an entry.
    fn largest(&self) -> usize;
    fn get(&self, account: &str) -> io::Result<Option<Vec<u8>>>;
    fn set(&self, account: &str, secret: &[u8]) -> io::Result<()>;
    /// Returns false if there is no such entry.
    fn delete(&self, account: &str) -> io::Result<bool>;
}

/// The place of one login in a keyring.
#[derive(Debug)]
pub(crate) struct Keyring {
    entries: Box<dyn KeyringEntries>,
    account: String,
}

/// The names of the entries that hold the parts of a login.
#[derive(Debug)]
struct PartNames {
    id: Uuid,
    count: usize,
}

impl Keyring {
    /// The place for the login of a home folder.
    pub(crate) fn new(entries: Box<dyn KeyringEntries>, home: &Path) -> Self {
        let account = account_of(home);
        Self { entries, account }
    }

    /// The stored text, if any.
    pub(crate) fn load(&self) -> io::Result<Option<Vec<u8>>> {
        let Some(head) = self.entries.get(&self.account)? else {
            return Ok(None);
        };
        let Some(parts) = PartNames::parse(&head)? else {
            return Ok(Some(head));
        };
        let mut text = Vec::new();
        for name in parts.accounts(&self.account) {
            let part = self.entries.get(&name)?;
            text.extend(part.ok_or_else(|| invalid("a part of the login is missing"))?);
        }
        Ok(Some(text))
    }

    /// Replaces the stored text. If it fails, the old one is kept.
    pub(crate) fn save(&self, text: &[u8]) -> io::Result<()> {
        let old = self.parts();
        if text.len() <= self.entries.largest() {
            self.entries.set(&self.account, text)?;
        } else {
            self.save_parts(text)?;
        }
        self.delete_parts(old)
    }

    /// Deletes the stored text. Returns false if there was none.
    pub(crate) fn delete(&self) -> io::Result<bool> {
        let parts = self.parts();
        let existed = self.entries.delete(&self.account)?;
        self.delete_parts(parts)?;
        Ok(existed)
    }

    fn save_parts(&self, text: &[u8]) -> io::Result<()> {
        let chunks = text.chunks(self.entries.largest());
        let parts = PartNames {
            id: Uuid::new_v4(),
            count: chunks.len(),
        };
        if parts.count > MAX_PARTS {
            return Err(invalid("the login is too long for the keyring"));
        }
        let head = format!("{PARTS}{} {}", parts.count, parts.id);
        let written = (parts.accounts(&self.account).zip(chunks))
            .try_for_each(|(name, chunk)| self.entries.set(&name, chunk))
            .and_then(|()| self.entries.set(&self.account, head.as_bytes()));
        if written.is_err() {
            // The first error is the one to report.
            let _ = self.delete_parts(Some(parts));
        }
        written
    }

    /// The parts of the stored login. None if it has none, or cannot be read.
    fn parts(&self) -> Option<PartNames> {
        let head = self.entries.get(&self.account).ok()??;
        PartNames::parse(&head).ok()?
    }

    fn delete_parts(&self, parts: Option<PartNames>) -> io::Result<()> {
        let names = parts.iter();
        let mut names = names.flat_map(|parts| parts.accounts(&self.account));
        names.try_for_each(|name| self.entries.delete(&name).map(drop))
    }
}

impl PartNames {
    /// Reads the entry of an account. None if it is the login itself.
    fn parse(head: &[u8]) -> io::Result<Option<Self>> {
        let Some(rest) = head.strip_prefix(PARTS.as_bytes()) else {
            return Ok(None);
        };
        let read = || {
            let (count, id) = std::str::from_utf8(rest).ok()?.split_once(' ')?;
            let count = count.parse().ok().filter(|count| *count <= MAX_PARTS)?;
            let id = id.parse().ok()?;
            Some(Self { id, count })
        };
        read()
            .map(Some)
            .ok_or_else(|| invalid("the entry of the login cannot be read"))
    }

    fn accounts(&self, account: &str) -> impl Iterator<Item = String> {
        (0..self.count).map(move |number| format!("{account}|{}|{number}", self.id))
    }
}

/// The name for a home folder, which all engines share.
fn account_of(home: &Path) -> String {
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let hash = Sha256::digest(home.to_string_lossy().as_bytes());
    let digits: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("cli|{digits}")
}

fn invalid(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    /// A keyring in memory, whose entries have a limit, and which refuses to write entries that contain a text.
    #[derive(Clone, Debug)]
    pub(crate) struct MemoryKeyring {
        pub(crate) entries: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
        pub(crate) largest: usize,
        pub(crate) refused: Arc<Mutex<Option<String>>>,
    }

    impl MemoryKeyring {
        pub(crate) fn new(largest: usize) -> Self {
            Self {
                entries: Arc::default(),
                largest,
                refused: Arc::default(),
            }
        }
    }

    impl KeyringEntries for MemoryKeyring {
        fn largest(&self) -> usize {
            self.largest
        }

        fn get(&self, account: &str) -> io::Result<Option<Vec<u8>>> {
            Ok(self.entries.lock().get(account).cloned())
        }

        fn set(&self, account: &str, secret: &[u8]) -> io::Result<()> {
            assert!(secret.len() <= self.largest);
            let refused = self.refused.lock().clone();
            if refused.is_some_and(|text| String::from_utf8_lossy(secret).contains(&text)) {
                return Err(io::Error::other("locked"));
            }
            self.entries
                .lock()
                .insert(account.to_owned(), secret.to_owned());
            Ok(())
        }

        fn delete(&self, account: &str) -> io::Result<bool> {
            Ok(self.entries.lock().remove(account).is_some())
        }
    }

    fn keyring(memory: &MemoryKeyring) -> Keyring {
        Keyring::new(Box::new(memory.clone()), Path::new("/nowhere/home"))
    }

    #[test]
    fn login_is_split_into_entries_and_fully_removed() {
        let memory = MemoryKeyring::new(50);
        let keyring = keyring(&memory);
        assert_eq!(keyring.load().unwrap(), None);
        let long = vec![b'x'; 120];
        for text in [&b"{}"[..], &long, &long[..90], b"{}"] {
            keyring.save(text).unwrap();
            assert_eq!(keyring.load().unwrap().as_deref(), Some(text));
        }
        assert_eq!(memory.entries.lock().len(), 1);
        keyring.save(&long).unwrap();
        assert_eq!(memory.entries.lock().len(), 4);
        assert!(keyring.delete().unwrap());
        assert!(!keyring.delete().unwrap());
        assert!(memory.entries.lock().is_empty());
    }

    #[test]
    fn a_failed_change_keeps_the_old_login() {
        let memory = MemoryKeyring::new(50);
        let keyring = keyring(&memory);
        let old = vec![b'o'; 120];
        keyring.save(&old).unwrap();
        for refused in ["n", PARTS] {
            *memory.refused.lock() = Some(refused.to_owned());
            assert!(keyring.save(&[b'n'; 120]).is_err());
            assert_eq!(keyring.load().unwrap(), Some(old.clone()));
            assert_eq!(memory.entries.lock().len(), 4);
        }
        *memory.refused.lock() = None;
        assert!(keyring.save(&[b'n'; 50 * (MAX_PARTS + 1)]).is_err());
        assert_eq!(keyring.load().unwrap(), Some(old));
    }

    #[test]
    fn damaged_entries_are_errors_and_can_be_replaced() {
        let memory = MemoryKeyring::new(50);
        let keyring = keyring(&memory);
        for head in [
            "parts 1000000 x",
            "parts",
            "parts 2 4be0643f-1d98-573b-97cd-ca98a65347dd",
        ] {
            let account = keyring.account.clone();
            memory.entries.lock().insert(account, head.into());
            assert_eq!(keyring.load().is_err(), head.len() > 5, "{head}");
            keyring.save(b"{}").unwrap();
            assert_eq!(keyring.load().unwrap().as_deref(), Some(&b"{}"[..]));
        }
    }

    #[test]
    fn the_account_is_the_home_folder() {
        let name = account_of(Path::new("/nowhere/home"));
        assert_eq!(name.len(), "cli|".len() + 16);
        assert_ne!(name, account_of(Path::new("/nowhere/other")));
    }
}
