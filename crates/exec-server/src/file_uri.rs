//! Paths on the wire: `file://` URIs.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use url::Url;

/// An absolute path of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileUri(pub(crate) PathBuf);

impl FileUri {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Serialize for FileUri {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        uri(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FileUri {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text).map(Self).map_err(de::Error::custom)
    }
}

fn parse(text: &str) -> Result<PathBuf, String> {
    let uri = Url::parse(text).map_err(|error| format!("`{text}` is no URI: {error}"))?;
    if uri.scheme() != "file" {
        return Err(format!("`{text}` is no file:// URI"));
    }
    uri.to_file_path()
        .map_err(|()| format!("`{text}` names no path of this machine"))
}

/// The URI of an absolute path.
pub(crate) fn uri(path: &Path) -> String {
    Url::from_file_path(path).map_or_else(
        |()| format!("file://{}", path.display()),
        |uri| uri.to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_file_uris_of_this_machine_are_paths() {
        assert_eq!(parse("file:///a%20b/c"), Ok("/a b/c".into()));
        for wrong in ["/a", "http://x/a", "file://host/a", "a", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_path_comes_back() {
        for path in ["/a b/ü#?%", "/"] {
            assert_eq!(parse(&uri(Path::new(path))), Ok(path.into()));
        }
    }
}
