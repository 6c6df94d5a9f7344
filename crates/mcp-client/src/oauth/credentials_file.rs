//! `.credentials.json`: one entry per login. Unknown entries are preserved.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use codex_private_files::secret_file;
use codex_protocol::Secret;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The stored login to one server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct StoredLogin {
    pub(super) server_name: String,
    pub(super) server_url: String,
    /// The client id of this program at the authorization server.
    pub(super) client_id: String,
    /// The client secret, if the authorization server issued one.
    #[serde(default)]
    pub(super) client_secret: Option<Secret>,
    pub(super) access_token: Secret,
    /// Milliseconds since 1970.
    #[serde(default)]
    pub(super) expires_at: Option<u64>,
    #[serde(default)]
    pub(super) refresh_token: Option<Secret>,
    #[serde(default)]
    pub(super) scopes: Vec<String>,
}

impl StoredLogin {
    fn to_json(&self) -> Value {
        let mut entry = json!({
            "server_name": self.server_name,
            "server_url": self.server_url,
            "client_id": self.client_id,
            "access_token": self.access_token.reveal(),
            "expires_at": self.expires_at,
            "refresh_token": self.refresh_token.as_ref().map(Secret::reveal),
            "scopes": self.scopes,
        });
        if let Some(secret) = &self.client_secret {
            entry["client_secret"] = secret.reveal().into();
        }
        entry
    }
}

#[derive(Clone, Debug)]
pub(super) struct CredentialsFile(PathBuf);

impl CredentialsFile {
    pub(super) fn in_home(home: &Path) -> Self {
        Self(home.join(".credentials.json"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The login to a server. If the file cannot be read, a warning is logged and there is none.
    pub(super) fn find(&self, name: &str, url: &str) -> Option<StoredLogin> {
        let entries = match self.entries() {
            Ok(entries) => entries,
            Err(error) => {
                tracing::warn!(%error, "the logins to MCP servers cannot be read");
                return None;
            }
        };
        let mut found = entries.values().filter(|entry| is_of(entry, name, url));
        found.find_map(|entry| StoredLogin::deserialize(entry).ok())
    }

    /// Replaces the login to a server. The caller holds the lock of the file.
    pub(super) fn save(&self, login: &StoredLogin) -> io::Result<()> {
        let (name, url) = (&login.server_name, &login.server_url);
        let mut entries = self.entries()?;
        entries.retain(|_, entry| !is_of(entry, name, url));
        entries.insert(key(name, url), login.to_json());
        self.write(entries)
    }

    /// Removes a login. False if there is none. The caller holds the lock of the file.
    pub(super) fn remove(&self, name: &str, url: &str) -> io::Result<bool> {
        let mut entries = self.entries()?;
        let before = entries.len();
        entries.retain(|_, entry| !is_of(entry, name, url));
        if entries.len() == before {
            return Ok(false);
        }
        if entries.is_empty() {
            std::fs::remove_file(&self.0)?
        } else {
            self.write(entries)?
        }
        Ok(true)
    }

    fn entries(&self) -> io::Result<Map<String, Value>> {
        let Some(text) = secret_file::read(&self.0)? else {
            return Ok(Map::new());
        };
        serde_json::from_slice(&text).map_err(|error| {
            let place = self.0.display();
            io::Error::new(io::ErrorKind::InvalidData, format!("{place}: {error}"))
        })
    }

    fn write(&self, entries: Map<String, Value>) -> io::Result<()> {
        let text = Value::Object(entries).to_string();
        secret_file::replace(&self.0, text.as_bytes())
    }
}

fn is_of(entry: &Value, name: &str, url: &str) -> bool {
    entry["server_name"] == name && entry["server_url"] == url
}

/// The key of a login's entry.
pub(super) fn key(name: &str, url: &str) -> String {
    // Other programs compute the same hash, so the text and the order of its members must not change.
    let url = Value::from(url);
    let form = format!(r#"{{"type":"http","url":{url},"headers":{{}}}}"#);
    let digest = Sha256::digest(form.as_bytes());
    digest[..8]
        .iter()
        .fold(format!("{name}|"), |mut key, byte| {
            let _ = write!(key, "{byte:02x}");
            key
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(name: &str, token: &str) -> StoredLogin {
        StoredLogin {
            server_name: name.to_owned(),
            server_url: "http://127.0.0.1:7815/mcp".to_owned(),
            client_id: "client".to_owned(),
            client_secret: None,
            access_token: token.into(),
            expires_at: Some(1),
            refresh_token: None,
            scopes: vec!["a".to_owned()],
        }
    }

    #[test]
    fn keys_are_those_of_other_programs() {
        let key = key("web", "http://127.0.0.1:7815/mcp");
        assert_eq!(key, "web|d1e3165704c8b864");
    }

    #[test]
    fn logins_come_and_go_and_others_stay() {
        let home = tempfile::tempdir().unwrap();
        let file = CredentialsFile::in_home(home.path());
        let old = r#"{"x|1":{"server_name":"x","later":1},"web|other":{"server_name":"web",
            "server_url":"http://127.0.0.1:7815/mcp","client_id":"c","access_token":"old"}}"#;
        std::fs::write(file.path(), old).unwrap();
        let url = "http://127.0.0.1:7815/mcp";
        let found = file.find("web", url).unwrap();
        assert_eq!(found.access_token.reveal(), "old");
        assert_eq!((found.expires_at, found.scopes.len()), (None, 0));
        file.save(&login("web", "new")).unwrap();
        assert_eq!(file.find("web", url), Some(login("web", "new")));
        assert_eq!(file.find("web", "http://elsewhere/"), None);
        let entries = file.entries().unwrap();
        assert!(entries.len() == 2 && entries.contains_key("web|d1e3165704c8b864"));
        assert_eq!(entries["x|1"]["later"], 1);
        assert!(file.remove("web", url).unwrap());
        assert!(!file.remove("web", url).unwrap());
        assert!(file.path().exists());
    }

    #[test]
    fn last_logout_removes_the_file_unless_damaged() {
        let home = tempfile::tempdir().unwrap();
        let file = CredentialsFile::in_home(home.path());
        file.save(&login("web", "new")).unwrap();
        assert!(file.remove("web", "http://127.0.0.1:7815/mcp").unwrap());
        assert!(!file.path().exists());
        std::fs::write(file.path(), "{").unwrap();
        assert!(file.save(&login("web", "new")).is_err());
        assert_eq!(file.find("web", "http://127.0.0.1:7815/mcp"), None);
        assert_eq!(std::fs::read(file.path()).unwrap(), b"{");
    }
}
