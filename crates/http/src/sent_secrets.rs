//! The secrets of a request. Servers may repeat them in errors, which are shown to people, sent to clients and
//! stored.

use reqwest::header::HeaderMap;

/// The replacement for a secret.
const REDACTED_MARKER: &str = "[redacted]";
/// Shorter values are not redacted: they would match parts of other words.
const MIN_SECRET_BYTES: usize = 6;

/// The secrets of one request.
#[derive(Clone, Default)]
pub struct SentSecrets(Vec<String>);

impl SentSecrets {
    /// The values of the headers that are marked as sensitive, without the scheme of an authorization.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let mut secrets = Self::default();
        for value in headers.values().filter(|value| value.is_sensitive()) {
            let value = value.to_str().unwrap_or_default().trim();
            // `Bearer TOKEN`, `Basic PAIR`.
            let token = value.split_once(' ').map_or(value, |(_, token)| token);
            secrets.add(value);
            secrets.add(token);
        }
        secrets
    }

    /// Adds a secret.
    pub fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.len() >= MIN_SECRET_BYTES && !self.0.iter().any(|known| known == secret) {
            self.0.push(secret.to_owned());
            // Longer secrets first, because one may contain another.
            self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// Replaces the secrets in a text.
    #[must_use]
    pub fn redact(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| {
            if text.contains(secret.as_str()) {
                text.replace(secret.as_str(), REDACTED_MARKER)
            } else {
                text
            }
        })
    }
}

impl std::fmt::Debug for SentSecrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("SentSecrets").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn marked_headers_are_removed_and_others_stay() {
        let mut headers = HeaderMap::new();
        for (name, value, is_sensitive) in [
            ("authorization", "Bearer token-1", true),
            ("x-key", "token-1-longer", true),
            ("x-short", "us", true),
            ("originator", "somebody", false),
        ] {
            let mut value = HeaderValue::from_static(value);
            value.set_sensitive(is_sensitive);
            headers.insert(name, value);
        }
        let text = "somebody: token-1-longer, Bearer token-1, token-1, us".to_owned();
        let expected = "somebody: [redacted], [redacted], [redacted], us";
        assert_eq!(SentSecrets::from_headers(&headers).redact(text), expected);
    }
}
