//! Paths of another machine. They are text here: nothing of this machine can be opened with them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The longest path.
const MAX_LENGTH: usize = 16 * 1024;

/// An absolute path of another machine, with `/` between its parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RemotePath(String);

impl RemotePath {
    /// None if the text is no absolute path.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let is_path = text.starts_with('/') && text.len() <= MAX_LENGTH && !text.contains('\0');
        is_path.then(|| Self(text.to_owned()))
    }

    /// A path as a command in this folder would understand it.
    #[must_use]
    pub fn join(&self, path: &str) -> Self {
        match path {
            "" => self.clone(),
            path if path.starts_with('/') => Self(path.to_owned()),
            path => Self(format!("{}/{path}", self.0.trim_end_matches('/'))),
        }
    }

    /// The folder that the path is in; none for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let trimmed = self.0.trim_end_matches('/');
        let (parent, _) = trimmed.rsplit_once('/')?;
        Some(Self(
            if parent.is_empty() { "/" } else { parent }.to_owned(),
        ))
    }

    /// The part of the path below a folder; empty for the folder itself.
    #[must_use]
    pub fn below(&self, folder: &Self) -> Option<&str> {
        let rest = self.0.strip_prefix(folder.0.trim_end_matches('/'))?;
        match rest.strip_prefix('/') {
            Some(rest) => Some(rest),
            None => rest.is_empty().then_some(""),
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The `file://` URI.
    #[must_use]
    pub fn uri(&self) -> String {
        let mut uri = "file://".to_owned();
        for byte in self.0.bytes() {
            match byte {
                b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
                byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
                byte => uri.push_str(&format!("%{byte:02X}")),
            }
        }
        uri
    }

    /// The path of a `file://` URI.
    #[must_use]
    pub fn of_uri(uri: &str) -> Option<Self> {
        let encoded = uri.strip_prefix("file://")?;
        if encoded.len() > 3 * MAX_LENGTH {
            return None;
        }
        let mut bytes = Vec::with_capacity(encoded.len());
        let mut rest = encoded.bytes();
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'%' => {
                    let digits = [rest.next()?, rest.next()?];
                    let digits = std::str::from_utf8(&digits).ok()?;
                    u8::from_str_radix(digits, 16).ok()?
                }
                byte => byte,
            });
        }
        Self::new(&String::from_utf8(bytes).ok()?)
    }
}

impl fmt::Display for RemotePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for RemotePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.uri().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RemotePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::of_uri(&text).ok_or_else(|| de::Error::custom("no file:// URI of an absolute path"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_comes_back_from_its_uri() {
        for text in ["/", "/a b/ü#?%", "/a/../b", "/x\\y"] {
            let path = RemotePath::new(text).unwrap();
            assert_eq!(RemotePath::of_uri(&path.uri()), Some(path));
        }
    }

    #[test]
    fn relative_remote_paths_are_rejected() {
        for text in ["", "a", "./a", "C:\\a", "/a\0b"] {
            assert_eq!(RemotePath::new(text), None, "{text}");
        }
        for uri in [
            "/a",
            "http://x/a",
            "file://host/a",
            "file:///a%zz",
            "file:///%00",
            "file:///%ff",
        ] {
            assert_eq!(RemotePath::of_uri(uri), None, "{uri}");
        }
    }

    #[test]
    fn relative_paths_are_below_the_folder() {
        let folder = RemotePath::new("/a/b").unwrap();
        assert_eq!(folder.join("c").as_str(), "/a/b/c");
        assert_eq!(folder.join("/c").as_str(), "/c");
        assert_eq!(folder.join("").as_str(), "/a/b");
        assert_eq!(folder.parent().unwrap().as_str(), "/a");
        assert_eq!(
            RemotePath::new("/a").unwrap().parent().unwrap().as_str(),
            "/"
        );
        let root = RemotePath::new("/").unwrap();
        assert_eq!(root.parent(), None);
        for (path, folder, rest) in [
            ("/a/b/c", &folder, Some("c")),
            ("/a/b", &folder, Some("")),
            ("/a/bc", &folder, None),
            ("/a", &root, Some("a")),
        ] {
            assert_eq!(RemotePath::new(path).unwrap().below(folder), rest, "{path}");
        }
    }
}
