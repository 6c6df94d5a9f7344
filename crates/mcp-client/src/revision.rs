//! The revisions of MCP, which differ in how a client introduces itself and how it is asked. Pure.
//!
//! Up to 2025-11-25 there is a handshake, and the server asks by requests of its own. Since 2026-07-28 every request says in
//! `_meta` what the client is; a reply may be a set of questions, and the client repeats the request with the answers.

use serde_json::{Map, Value, json};

use crate::error::McpError;

/// The newest revision with a handshake. Any older one that a server replies with is accepted.
pub(crate) const WITH_HANDSHAKE: &str = "2025-11-25";

/// The revision without a handshake.
pub(crate) const STATELESS_REVISION: &str = "2026-07-28";

/// The code of the error that a revision is not supported.
const UNSUPPORTED_REVISION: i64 = -32022;
const METHOD_NOT_FOUND: i64 = -32601;

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The rules that requests follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RequestRules {
    #[default]
    Handshake,
    /// Those of 2026-07-28.
    Stateless,
}

/// Adds to the params of a request what the client is.
pub(crate) fn introduce(params: &mut Value, capabilities: Value, client: Value) {
    let meta = &mut params["_meta"];
    meta[VERSION_KEY] = json!(STATELESS_REVISION);
    meta[CAPABILITIES_KEY] = capabilities;
    meta[CLIENT_KEY] = client;
}

/// Whether the reply to `server/discover` is that of a server without a handshake.
pub(crate) fn is_stateless(discovered: &Value) -> bool {
    let versions = discovered["supportedVersions"].as_array();
    versions.is_some_and(|versions| versions.iter().any(|version| version == STATELESS_REVISION))
}

/// What a server says about itself in a reply.
pub(crate) fn server_info(discovered: &Value) -> &Value {
    match &discovered["_meta"][SERVER_KEY] {
        Value::Null => &discovered["serverInfo"],
        info => info,
    }
}

/// Whether a server refuses a revision and would accept the one without a handshake.
pub(crate) fn demands_stateless(error: &McpError) -> bool {
    let McpError::Remote {
        code: UNSUPPORTED_REVISION,
        data: Some(data),
        ..
    } = error
    else {
        return false;
    };
    let supported = data["supported"].as_array();
    supported.is_some_and(|supported| {
        supported
            .iter()
            .any(|version| version == STATELESS_REVISION)
    })
}

/// Whether a server may know no handshake, judged by how it refuses one.
pub(crate) fn may_know_no_handshake(error: &McpError) -> bool {
    matches!(
        error,
        McpError::Remote {
            code: UNSUPPORTED_REVISION | METHOD_NOT_FOUND,
            ..
        }
    )
}

/// The questions in a reply, by their keys; none if it is the result.
pub(crate) fn questions(reply: &mut Value) -> Option<Map<String, Value>> {
    if reply["resultType"] != "input_required" {
        return None;
    }
    Some(match reply["inputRequests"].take() {
        Value::Object(questions) => questions,
        _ => Map::new(),
    })
}

/// Puts answers, and the state that the server gave out, into the params of a request that is repeated.
pub(crate) fn put_answers(params: &mut Value, answers: Map<String, Value>, state: &Value) {
    let Some(params) = params.as_object_mut() else {
        return;
    };
    params.remove("inputResponses");
    params.remove("requestState");
    if !answers.is_empty() {
        params.insert("inputResponses".to_owned(), answers.into());
    }
    if !state.is_null() {
        params.insert("requestState".to_owned(), state.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: i64, supported: &Value) -> McpError {
        McpError::Remote {
            code,
            message: String::new(),
            data: Some(json!({ "supported": supported })),
        }
    }

    #[test]
    fn request_meta_names_the_client_and_keeps_other_members() {
        let mut params = json!({ "name": "x", "_meta": { "progressToken": 1 } });
        introduce(&mut params, json!({}), json!({ "name": "c" }));
        assert_eq!(params["_meta"]["progressToken"], 1);
        assert_eq!(params["_meta"][VERSION_KEY], STATELESS_REVISION);
        assert_eq!(params["_meta"][CLIENT_KEY]["name"], "c");
    }

    #[test]
    fn server_revisions_are_read_from_the_error() {
        assert!(is_stateless(
            &json!({ "supportedVersions": ["2025-11-25", STATELESS_REVISION] })
        ));
        assert!(!is_stateless(
            &json!({ "supportedVersions": ["2025-11-25"] })
        ));
        assert!(!is_stateless(&json!({})));
        assert!(demands_stateless(&refused(
            -32022,
            &json!([STATELESS_REVISION])
        )));
        assert!(!demands_stateless(&refused(-32022, &json!(["2025-11-25"]))));
        assert!(!demands_stateless(&refused(
            -32000,
            &json!([STATELESS_REVISION])
        )));
        assert!(may_know_no_handshake(&refused(-32601, &Value::Null)));
        assert!(!may_know_no_handshake(&McpError::AuthRequired));
    }

    #[test]
    fn repeated_request_has_only_the_latest_answers() {
        let mut params = json!({ "name": "x" });
        let answers = Map::from_iter([("q".to_owned(), json!(1))]);
        put_answers(&mut params, answers, &json!("s"));
        assert_eq!(
            params,
            json!({ "name": "x", "inputResponses": { "q": 1 }, "requestState": "s" })
        );
        put_answers(&mut params, Map::new(), &Value::Null);
        assert_eq!(params, json!({ "name": "x" }));
        assert_eq!(questions(&mut json!({ "content": [] })), None);
    }
}
