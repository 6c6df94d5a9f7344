//! The cache file of a server's list of models.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::ModelInfo;

/// How long a list is used without asking the server.
const FRESH_TIME: Duration = Duration::from_secs(300);

/// A server's list of models and the time it was fetched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelsCache {
    pub fetched_at: Timestamp,
    /// The version of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The version of the program that fetched it.
    #[serde(default)]
    pub client_version: String,
    /// The list.
    pub models: Vec<ModelInfo>,
}

impl ModelsCache {
    /// Whether the list may still be used by this version of the program.
    pub fn is_fresh(&self, now: Timestamp, client_version: &str) -> bool {
        let age = now.duration_since(self.fetched_at).unsigned_abs();
        self.client_version == client_version && age <= FRESH_TIME
    }
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan;

    use super::*;

    #[test]
    fn a_list_counts_for_five_minutes_and_one_version() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let cache = ModelsCache {
            fetched_at: now,
            etag: None,
            client_version: "1.2.3".to_owned(),
            models: Vec::new(),
        };
        assert!(cache.is_fresh(now + 300.seconds(), "1.2.3"));
        assert!(!cache.is_fresh(now + 301.seconds(), "1.2.3"));
        assert!(!cache.is_fresh(now - 301.seconds(), "1.2.3"));
        assert!(!cache.is_fresh(now, "1.2.4"));
        let json = serde_json::to_string(&cache).unwrap();
        assert!(json.starts_with(r#"{"fetched_at":"2026-03-01T12:00:00Z","client_version""#));
        assert_eq!(serde_json::from_str::<ModelsCache>(&json).unwrap(), cache);
    }
}
