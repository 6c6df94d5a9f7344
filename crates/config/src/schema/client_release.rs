//! `client_release`: the release of clients that do not say theirs.

use codex_protocol::Release;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A release of a client, as in `0.171`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientRelease(pub Release);

impl Serialize for ClientRelease {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ClientRelease {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let release = Release::parse_client(&text);
        release.map(Self).map_err(de::Error::custom)
    }
}
