//! The headers that repeat parts of a request since 2026-07-28, for what stands between client and server. Pure.
//!
//! A tool names with `x-mcp-header` the arguments that become headers. Tools whose names for them break the rules are not
//! offered.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::revision::STATELESS_REVISION;

const ANNOTATION: &str = "x-mcp-header";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const PARAMETER_PREFIX: &str = "mcp-param-";

/// What begins and ends an encoded value.
const ENCODED_MARKS: (&str, &str) = ("=?base64?", "?=");

/// Larger integers are not the same number everywhere.
const LARGEST_INTEGER: u64 = (1 << 53) - 1;

/// Keywords whose values are data and no schemas.
const DATA_KEYWORDS: [&str; 4] = ["const", "default", "enum", "examples"];

/// An argument that becomes a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParameterHeader {
    header: HeaderName,
    /// The members that lead to the argument.
    path: Vec<String>,
}

/// The headers of a request.
pub(crate) fn headers(method: &str, params: &Value, parameters: &[ParameterHeader]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut add = |name: HeaderName, text: &str| {
        if let Ok(value) = HeaderValue::from_str(&encoded(text)) {
            headers.insert(name, value);
        }
    };
    add(
        HeaderName::from_static(PROTOCOL_VERSION),
        STATELESS_REVISION,
    );
    add(HeaderName::from_static(METHOD), method);
    let named = match method {
        "resources/read" => &params["uri"],
        _ => &params["name"],
    };
    if let Some(name) = named.as_str() {
        add(HeaderName::from_static(NAME), name);
    }
    for ParameterHeader { header, path } in parameters {
        let steps = path.iter();
        let value = steps.fold(&params["arguments"], |value, step| &value[step.as_str()]);
        if let Some(text) = text_of(value) {
            add(header.clone(), &text);
        }
    }
    headers
}

/// An argument as text; none if it is absent or has another type than a header can have.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(is_so) => Some(is_so.to_string()),
        Value::Number(number) => {
            let is_exact = |integer: u64| integer <= LARGEST_INTEGER;
            let integer = number.as_i64().filter(|it| is_exact(it.unsigned_abs()));
            integer.map(|integer| integer.to_string())
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A text as the value of a header.
fn encoded(text: &str) -> String {
    let (begin, end) = ENCODED_MARKS;
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let has_ends = text.starts_with(' ') || text.ends_with(' ');
    let looks_encoded = text.starts_with(begin) && text.ends_with(end);
    if is_plain && !has_ends && !looks_encoded {
        text.to_owned()
    } else {
        format!("{begin}{}{end}", STANDARD.encode(text))
    }
}

/// The arguments of a tool that become headers.
///
/// # Errors
/// Why the tool may not be offered.
pub(crate) fn parameter_headers(schema: &Value) -> Result<Vec<ParameterHeader>, &'static str> {
    let mut found = Vec::new();
    if let Value::Object(schema) = schema {
        scan(schema, &mut Vec::new(), &mut found)?;
    }
    let mut names = BTreeSet::new();
    // Names of headers have no upper case letters here.
    if found.iter().all(|it| names.insert(it.header.as_str())) {
        Ok(found)
    } else {
        Err("two arguments become the same header")
    }
}

fn scan(
    schema: &Map<String, Value>,
    path: &mut Vec<String>,
    found: &mut Vec<ParameterHeader>,
) -> Result<(), &'static str> {
    if let Some(name) = schema.get(ANNOTATION) {
        found.push(ParameterHeader {
            header: header_of(name, schema, path)?,
            path: path.clone(),
        });
    }
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    let Value::Object(property) = property else {
                        continue;
                    };
                    path.push(name.clone());
                    scan(property, path, found)?;
                    path.pop();
                }
            }
            (ANNOTATION, _) => {}
            (keyword, _) if DATA_KEYWORDS.contains(&keyword) => {}
            (_, value) if is_annotated(value) => {
                return Err("an argument becomes a header that not every call has in one place");
            }
            _ => {}
        }
    }
    Ok(())
}

fn header_of(
    name: &Value,
    schema: &Map<String, Value>,
    path: &[String],
) -> Result<HeaderName, &'static str> {
    let name = name.as_str().unwrap_or_default();
    if path.is_empty() || name.is_empty() {
        return Err("an argument becomes a header without a name");
    }
    let kind = schema.get("type").and_then(Value::as_str);
    if !matches!(kind, Some("string" | "integer" | "boolean")) {
        return Err("an argument becomes a header whose type has no text");
    }
    let name = format!("{PARAMETER_PREFIX}{name}");
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| "an argument becomes a header with an invalid name")
}

/// Whether there is a header anywhere in a schema.
fn is_annotated(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.contains_key(ANNOTATION) || members.values().any(is_annotated)
        }
        Value::Array(entries) => entries.iter().any(is_annotated),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers_of_properties(properties: Value) -> Result<Vec<ParameterHeader>, &'static str> {
        parameter_headers(&json!({ "type": "object", "properties": properties }))
    }

    #[test]
    fn requests_are_named_in_headers() {
        let params = json!({ "name": "t\u{e9}l", "uri": "file:///x" });
        let named = |method: &str| headers(method, &params, &[])[NAME].clone();
        assert_eq!(named("tools/call"), "=?base64?dMOpbA==?=");
        assert_eq!(named("resources/read"), "file:///x");
        let listed = headers("tools/list", &json!({}), &[]);
        assert_eq!(listed[METHOD], "tools/list");
        assert_eq!(listed[PROTOCOL_VERSION], STATELESS_REVISION);
        assert!(!listed.contains_key(NAME));
    }

    #[test]
    fn marked_arguments_become_headers() {
        let string = |name: &str| json!({ "type": "string", ANNOTATION: name });
        let parameters = headers_of_properties(json!({
            "region": string("Region"), "empty": string("Empty"), "absent": string("Absent"),
            "lines": string("Lines"),
            "count": { "type": "integer", ANNOTATION: "Count" },
            "large": { "type": "integer", ANNOTATION: "Large" },
            "sure": { "type": "boolean", ANNOTATION: "Sure" },
            "inner": { "type": "object", "properties": { "deep": string("Deep") } },
            "plain": { "type": "string" },
        }));
        let arguments = json!({ "region": "eu west", "empty": "", "lines": "a\r\nX: y", "count": -3,
            "large": u64::MAX, "sure": false, "inner": { "deep": " x" }, "plain": "p" });
        let params = json!({ "name": "t", "arguments": arguments });
        let headers = headers("tools/call", &params, &parameters.unwrap());
        let value = |name: &str| headers.get(format!("Mcp-Param-{name}")).cloned();
        assert_eq!(value("Region").unwrap(), "eu west");
        assert_eq!(value("Empty").unwrap(), "");
        assert_eq!(value("Lines").unwrap(), "=?base64?YQ0KWDogeQ==?=");
        assert_eq!(value("Count").unwrap(), "-3");
        assert_eq!(value("Sure").unwrap(), "false");
        assert_eq!(value("Deep").unwrap(), "=?base64?IHg=?=");
        assert_eq!((value("Absent"), value("Large")), (None, None));
        assert_eq!(headers.len(), 3 + 6);
    }

    #[test]
    fn tools_with_headers_that_break_the_rules_are_refused() {
        let string = |name: &str| json!({ "type": "string", ANNOTATION: name });
        let table = [
            json!({ "a": string("") }),
            json!({ "a": string("x y") }),
            json!({ "a": string("x:y") }),
            json!({ "a": string("\u{e9}") }),
            json!({ "a": string("x"), "b": string("X") }),
            json!({ "a": { "type": "object", ANNOTATION: "x" } }),
            json!({ "a": { "type": "number", ANNOTATION: "x" } }),
            json!({ "a": { ANNOTATION: "x" } }),
            json!({ "a": { "type": "string", ANNOTATION: 1 } }),
            json!({ "a": { "type": "array", "items": string("x") } }),
            json!({ "a": { "oneOf": [string("x")] } }),
        ];
        for properties in table {
            assert!(
                headers_of_properties(properties.clone()).is_err(),
                "{properties}"
            );
        }
        let data = json!({ "a": { "type": "object", "default": { ANNOTATION: "x" } } });
        assert_eq!(headers_of_properties(data), Ok(Vec::new()));
    }
}
