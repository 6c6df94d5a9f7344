//! What a server says in the body of an error reply. Servers do not agree on a form.

use serde_json::Value;

/// More bytes are not shown.
const SHOWN_BYTES: usize = 1000;
/// How deeply messages are looked for.
const MAX_DEPTH: usize = 8;

/// The words of a body for people; None for an empty one.
pub(crate) fn words_of(body: &str) -> Option<String> {
    let body = body.trim();
    let value = serde_json::from_str::<Value>(body).ok();
    let found = value.as_ref().and_then(|value| message_in(value, 0));
    let words = found.or_else(|| title_of(body).map(str::to_owned));
    let words = words.unwrap_or_else(|| body.to_owned());
    let words = words.trim();
    if words.is_empty() {
        return None;
    }
    if words.len() <= SHOWN_BYTES {
        return Some(words.to_owned());
    }
    let end = words.floor_char_boundary(SHOWN_BYTES);
    Some(format!("{}...", &words[..end]))
}

/// `{"error": {"message": …}}` of most servers, `{"detail": …}` of FastAPI, and others.
fn message_in(value: &Value, depth: usize) -> Option<String> {
    if depth > MAX_DEPTH {
        return None;
    }
    match value {
        Value::String(text) => {
            let inner = with_inner_words(text, depth);
            inner.or_else(|| (!text.trim().is_empty()).then(|| text.clone()))
        }
        Value::Array(all) => {
            let all = all.iter().filter_map(|value| message_in(value, depth + 1));
            let all = all.collect::<Vec<_>>().join("; ");
            (!all.is_empty()).then_some(all)
        }
        Value::Object(members) => {
            let names = [
                "error",
                "message",
                "msg",
                "detail",
                "error_description",
                "errors",
            ];
            let mut found = names.into_iter().filter_map(|name| members.get(name));
            let text = found.find_map(|value| message_in(value, depth + 1))?;
            // FastAPI names the member that it objects to.
            let place = members.get("loc").and_then(Value::as_array).map(|place| {
                let parts = place.iter().map(|part| match part {
                    Value::String(part) => part.clone(),
                    other => other.to_string(),
                });
                parts.collect::<Vec<_>>().join(".")
            });
            Some(place.map_or(text.clone(), |place| format!("{place}: {text}")))
        }
        _ => None,
    }
}

/// Proxies put the body of the server behind them into a text of their own: its words stand in its place.
fn with_inner_words(text: &str, depth: usize) -> Option<String> {
    let mut starts = text.match_indices('{').take(MAX_DEPTH);
    starts.find_map(|(start, _)| {
        let rest = &text[start..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let body = values.next()?.ok().filter(Value::is_object)?;
        let words = message_in(&body, depth + 1)?;
        let end = &rest[values.byte_offset()..];
        Some(format!("{}{words}{end}", &text[..start]))
    })
}

/// A sentence of a server with what is JSON in it in words.
pub(crate) fn sentence(text: &str) -> String {
    with_inner_words(text, 0).unwrap_or_else(|| text.to_owned())
}

/// The title of a page, which proxies send.
fn title_of(body: &str) -> Option<&str> {
    if !body.starts_with('<') {
        return None;
    }
    let lower = body.to_ascii_lowercase();
    let start = lower.find("<title>")? + "<title>".len();
    let end = start + lower[start..].find("</title>")?;
    let title = body[start..end].trim();
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_found_in_the_forms_of_servers() {
        for (body, expected) in [
            (r#"{"error":{"message":"no","type":"t"}}"#, "no"),
            (r#"{"error":"no"}"#, "no"),
            (r#"{"message":"no","request_id":"r"}"#, "no"),
            (r#"{"detail":"no"}"#, "no"),
            (
                r#"{"detail":[{"loc":["body",0],"msg":"no"},{"msg":"nor this"}]}"#,
                "body.0: no; nor this",
            ),
            (r#"[{"error":{"message":"no"}}]"#, "no"),
            (
                r#"{"error":{"message":"{\"error\":{\"message\":\"no\"}}"}}"#,
                "no",
            ),
            (
                r#"{"error":{"message":"Proxy - {\"error\": {\"message\": \"no\", \"code\": 7}}. Model=x"}}"#,
                "Proxy - no. Model=x",
            ),
            (r#"{"error":"use {name} {x: 1}"}"#, "use {name} {x: 1}"),
            (
                r#"{"error":{"message":"","code":"c"},"message":"no"}"#,
                "no",
            ),
            (
                "<html><head><title>502 Bad Gateway</title></head>…</html>",
                "502 Bad Gateway",
            ),
            (" busy\n", "busy"),
            (r#"{"code":7}"#, r#"{"code":7}"#),
        ] {
            assert_eq!(words_of(body).as_deref(), Some(expected), "{body}");
        }
        assert_eq!(words_of(" "), None);
    }

    #[test]
    fn long_words_are_cut() {
        let words = words_of(&"é".repeat(600)).unwrap();
        assert_eq!(words, format!("{}...", "é".repeat(500)));
        let deep = format!("{}1{}", r#"{"error":"#.repeat(60), "}".repeat(60));
        assert!(words_of(&deep).unwrap().starts_with("{\"error\""));
    }
}
