//! The revisions of MCP, which differ in how a client introduces itself and how it is asked. Pure.
//!
//! Up to 2025-11-25 there is a handshake, and the server asks by requests of its own. Since 2026-07-28 every request
//! carries what the client is in `_meta`; a call that needs an answer is replied to with the question, and the client
//! repeats the call with the answer.

use codex_json_rpc::Error;
use serde_json::{Value, json};

/// Revisions with a handshake, the newest first.
pub(crate) const WITH_HANDSHAKE: [&str; 4] =
    ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The revision without a handshake.
pub(crate) const STATELESS_REVISION: &str = "2026-07-28";

/// The code of the error that a revision is not supported.
const UNSUPPORTED_REVISION: i64 = -32022;

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The rules that a request follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Those of a revision with a handshake.
    Handshake,
    /// Those of 2026-07-28.
    Stateless {
        /// Whether the client can be asked.
        can_elicit: bool,
    },
}

impl Rules {
    /// The rules of a request with this `_meta`.
    pub(crate) fn from_meta(meta: &Value) -> Result<Self, Error> {
        let Some(version) = meta.get(VERSION_KEY) else {
            return Ok(Self::Handshake);
        };
        if version != STATELESS_REVISION {
            return Err(Error {
                code: UNSUPPORTED_REVISION,
                message: format!("the revision {version} is not supported"),
                data: Some(json!({ "supported": supported(), "requested": version })),
            });
        }
        let capabilities = meta.get(CAPABILITIES_KEY).filter(|it| it.is_object());
        let capabilities = capabilities
            .ok_or_else(|| Error::invalid_params(format!("`_meta` has no {CAPABILITIES_KEY}")))?;
        Ok(Self::Stateless {
            can_elicit: has_forms(capabilities),
        })
    }

    /// The result with the members that the rules demand of every result.
    pub(crate) fn complete(self, mut result: Value, server: &Value) -> Value {
        if self == Self::Handshake {
            return result;
        }
        if result.get("resultType").is_none() {
            result["resultType"] = json!("complete");
        }
        result["_meta"] = json!({ SERVER_KEY: server });
        result
    }
}

/// All revisions, the newest first.
pub(crate) fn supported() -> Vec<&'static str> {
    [STATELESS_REVISION]
        .into_iter()
        .chain(WITH_HANDSHAKE)
        .collect()
}

/// Whether a client with these capabilities shows forms.
pub(crate) fn has_forms(capabilities: &Value) -> bool {
    match capabilities["elicitation"].as_object() {
        // Before there were other kinds, an empty object meant forms.
        Some(kinds) => kinds.is_empty() || kinds.contains_key("form"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(version: &str, capabilities: &Value) -> Result<Rules, Error> {
        Rules::from_meta(&json!({ VERSION_KEY: version, CAPABILITIES_KEY: capabilities }))
    }

    #[test]
    fn request_meta_sets_the_revision() {
        assert_eq!(Rules::from_meta(&Value::Null).unwrap(), Rules::Handshake);
        let can_elicit = |capabilities: &Value| rules(STATELESS_REVISION, capabilities).unwrap();
        assert_eq!(
            can_elicit(&json!({})),
            Rules::Stateless { can_elicit: false }
        );
        let forms = json!({ "elicitation": { "form": {} } });
        assert_eq!(can_elicit(&forms), Rules::Stateless { can_elicit: true });
        let refused = rules("2030-01-01", &json!({})).unwrap_err();
        assert_eq!(refused.code, -32022);
        assert_eq!(refused.data.unwrap()["supported"][0], STATELESS_REVISION);
        let incomplete = Rules::from_meta(&json!({ VERSION_KEY: STATELESS_REVISION }));
        assert_eq!(incomplete.unwrap_err().code, -32602);
    }

    #[test]
    fn pages_are_not_forms() {
        assert!(has_forms(&json!({ "elicitation": {} })));
        assert!(!has_forms(&json!({ "elicitation": { "url": {} } })));
        assert!(!has_forms(&json!({})));
    }
}
