//! What is at a path, as it is compared and stored.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of a content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of these bytes.
    #[must_use]
    pub fn compute(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub(crate) fn finish(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// A text that is not a hash.
#[derive(Debug, thiserror::Error)]
#[error("not a SHA-256")]
pub struct NotAHash;

impl FromStr for ContentHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let bytes = from_hex(text).ok_or(NotAHash)?;
        bytes.try_into().map(Self).map_err(|_| NotAHash)
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    let pairs = (0..text.len()).step_by(2).map(|at| text.get(at..at + 2));
    pairs
        .map(|pair| u8::from_str_radix(pair?, 16).ok())
        .collect()
}

/// The times and inode of a file. They differ after any change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileStamp {
    /// In nanoseconds since 1970, as are the others.
    pub modified: i64,
    /// When the inode was changed.
    pub changed: i64,
    pub inode: u64,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum FileState {
    Missing,
    /// A file whose content is stored.
    File {
        hash: ContentHash,
        size: u64,
        mode: u32,
    },
    /// A symbolic link and its target.
    Link {
        #[serde(with = "stored_path")]
        target: PathBuf,
    },
    Folder {
        mode: u32,
    },
    /// A file whose content is not stored.
    NotKept {
        size: u64,
        mode: u32,
        stamp: FileStamp,
        reason: NotKeptReason,
    },
    /// A device, pipe or socket.
    Special,
}

impl FileState {
    /// Whether a restore can make it.
    #[must_use]
    pub fn is_restorable(&self) -> bool {
        !matches!(self, Self::NotKept { .. } | Self::Special)
    }

    /// Why a restore cannot make it.
    #[must_use]
    pub fn not_kept_reason(&self) -> Option<NotKeptReason> {
        match self {
            Self::NotKept { reason, .. } => Some(*reason),
            Self::Special => Some(NotKeptReason::Special),
            _ => None,
        }
    }
}

/// Why something cannot be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NotKeptReason {
    /// The file is larger than the limit.
    TooLarge,
    /// The limit of files or bytes for one command was reached.
    Limit,
    /// The store is full.
    StoreFull,
    /// It could not be read.
    Unreadable,
    /// A device, pipe or socket.
    Special,
    /// It has other names that are not watched.
    HardLink,
    /// An ignored folder with too much in it to be watched.
    IgnoredFolder,
    /// Another file system.
    OtherFileSystem,
    /// The folder has too many files to be watched.
    TooManyFiles,
    /// Git stores it in another form.
    Converted,
    /// A repository was made or removed.
    Repository,
    /// Its content is no longer in the store.
    Gone,
}

impl NotKeptReason {
    /// The reason as a word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge => "tooLarge",
            Self::Limit => "limit",
            Self::StoreFull => "storeFull",
            Self::Unreadable => "unreadable",
            Self::Special => "special",
            Self::HardLink => "hardLink",
            Self::IgnoredFolder => "ignoredFolder",
            Self::OtherFileSystem => "otherFileSystem",
            Self::TooManyFiles => "tooManyFiles",
            Self::Converted => "converted",
            Self::Repository => "repository",
            Self::Gone => "gone",
        }
    }
}

/// Something that a checkpoint cannot bring back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotKept {
    /// The file or folder.
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// Why.
    pub reason: NotKeptReason,
}

/// Paths in stored data: as text, or if they are not UTF-8, as hexadecimal bytes behind a character that no path has.
pub(crate) mod stored_path {
    use super::*;

    const BYTES: char = '\0';

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => {
                let bytes = path.as_os_str().as_encoded_bytes();
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                serializer.collect_str(&format_args!("{BYTES}{hex}"))
            }
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PathBuf, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.strip_prefix(BYTES) {
            Some(hex) => {
                let bytes = from_hex(hex).ok_or_else(|| de::Error::custom("not a path"))?;
                Ok(codex_system::name::os_string(bytes).into())
            }
            None => Ok(text.into()),
        }
    }
}

/// The same for lists of paths.
pub(crate) mod stored_paths {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct One(#[serde(with = "stored_path")] PathBuf);

    pub(crate) fn serialize<S: Serializer>(
        paths: &[PathBuf],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| One(path.clone())))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let paths = Vec::<One>::deserialize(deserializer)?;
        Ok(paths.into_iter().map(|One(path)| path).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_back_as_they_were_stored() {
        let hash = ContentHash::compute(b"a");
        assert_eq!(hash.to_string().parse::<ContentHash>().unwrap(), hash);
        assert!("é1".parse::<ContentHash>().is_err());
        let stamp = FileStamp {
            modified: -1,
            changed: 2,
            inode: 3,
        };
        let states = [
            FileState::Missing,
            FileState::File {
                hash,
                size: 1,
                mode: 0o755,
            },
            FileState::Link {
                target: "../b".into(),
            },
            FileState::Folder { mode: 0o700 },
            FileState::NotKept {
                size: 9,
                mode: 0,
                stamp,
                reason: NotKeptReason::TooLarge,
            },
            FileState::Special,
        ];
        for state in states {
            let text = serde_json::to_string(&state).unwrap();
            assert_eq!(serde_json::from_str::<FileState>(&text).unwrap(), state);
        }
    }

    #[cfg(unix)]
    #[test]
    fn non_utf8_names_are_read_back_unchanged() {
        use std::os::unix::ffi::OsStrExt as _;
        for name in [&b"/a\xff b"[..], b"/plain \xc3\xa9"] {
            let path = PathBuf::from(std::ffi::OsStr::from_bytes(name));
            let not_kept = NotKept {
                path,
                reason: NotKeptReason::Limit,
            };
            let text = serde_json::to_string(&not_kept).unwrap();
            assert_eq!(serde_json::from_str::<NotKept>(&text).unwrap(), not_kept);
        }
    }
}
