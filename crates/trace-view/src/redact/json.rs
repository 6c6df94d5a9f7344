//! Replacing strings in JSON text and leaving every other byte as it is.
//!
//! This is no parser: what is not a string is copied, right or wrong, so that a torn line keeps its whole part. A
//! string that holds JSON itself, as the arguments of a call do, is walked in turn.

/// How deep JSON inside strings is followed.
const MAX_NESTING: usize = 4;

/// What a string is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key<'k> {
    /// It is a key, in an object that is reached by these keys.
    Itself { outer: &'k [String] },
    /// It is a value, or in a list of values, under this key; there is none at the top. The outer keys lead to it, from
    /// the top, those of JSON that a string holds too.
    Of { key: &'k str, outer: &'k [String] },
}

type Map<'m> = &'m mut dyn FnMut(Key<'_>, &str) -> String;

/// Replaces every string, keys too, by what `map` makes of it.
pub(super) fn map_strings(json: &str, map: Map<'_>) -> String {
    walk(json, &[String::new()], map, 0)
}

fn walk(json: &str, outer: &[String], map: Map<'_>, nesting: usize) -> String {
    let mut out = String::with_capacity(json.len());
    // The key in each object or list that is open.
    let mut keys = outer.to_vec();
    let depth = keys.len();
    let mut rest = json;
    while let Some(at) = rest.find(['"', '{', '}', '[', ']']) {
        out.push_str(&rest[..at]);
        let found = rest.as_bytes()[at];
        if found != b'"' {
            out.push(char::from(found));
            rest = &rest[at + 1..];
            match found {
                b'{' | b'[' => keys.push(keys.last().cloned().unwrap_or_default()),
                _ if keys.len() > depth => drop(keys.pop()),
                _ => {}
            }
            continue;
        }
        let (literal, after) = literal(&rest[at..]);
        rest = after;
        let is_key = rest.trim_start().starts_with(':');
        let string = decode(literal);
        if is_key {
            let outer = keys.split_last().map_or(&[][..], |(_, outer)| outer);
            out.push_str(&encode(&map(Key::Itself { outer }, &string)));
            if let Some(key) = keys.last_mut() {
                *key = string;
            }
        } else {
            out.push_str(&encode(&value(&string, &keys, map, nesting)));
        }
    }
    out.push_str(rest);
    out
}

fn value(string: &str, keys: &[String], map: Map<'_>, nesting: usize) -> String {
    let holds_json = nesting < MAX_NESTING
        && string.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(string).is_ok();
    if holds_json {
        walk(string, keys, map, nesting + 1)
    } else {
        let (key, outer) = keys
            .split_last()
            .map_or(("", &[][..]), |(key, outer)| (key.as_str(), outer));
        map(Key::Of { key, outer }, string)
    }
}

/// A string with its quotes, and what follows. One that does not end goes to the end.
fn literal(text: &str) -> (&str, &str) {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return text.split_at(at + 1),
            _ => {}
        }
    }
    (text, "")
}

/// What a literal says. A broken one is taken by its letters, so that nothing in it escapes the look.
fn decode(literal: &str) -> String {
    serde_json::from_str(literal).unwrap_or_else(|_| literal.trim_matches('"').to_owned())
}

fn encode(string: &str) -> String {
    serde_json::Value::from(string).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str) -> String {
        map_strings(json, &mut |key, string| match key {
            Key::Itself { .. } => string.to_owned(),
            Key::Of { key, .. } => format!("{key}={string}"),
        })
    }

    #[test]
    fn strings_change_and_all_else_stays() {
        let cases = [
            (r#"{"a": "b", "n": 1.50e9}"#, r#"{"a": "a=b", "n": 1.50e9}"#),
            (
                r#"{"a":["b",{"c":"d"},"e"]}"#,
                r#"{"a":["a=b",{"c":"c=d"},"a=e"]}"#,
            ),
            (
                r#"{"a":{"b":"c"},"d":"e"}"#,
                r#"{"a":{"b":"b=c"},"d":"d=e"}"#,
            ),
            (r#"{"a":"{\"k\":\"v\"}"}"#, r#"{"a":"{\"k\":\"k=v\"}"}"#),
            (r#"{"a":"b","c":"to"#, r#"{"a":"a=b","c":"c=to""#),
            ("]]}", "]]}"),
            ("", ""),
        ];
        for (json, expected) in cases {
            assert_eq!(shown(json), expected);
        }
    }
}
