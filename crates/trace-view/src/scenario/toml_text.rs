//! JSON values as TOML, inline.

use std::fmt::Write;

use serde_json::Value;

/// A value. TOML has no null: members that are null are left out.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => string(text),
        Value::Array(items) => {
            let items = items.iter().filter(|item| !item.is_null());
            let items: Vec<String> = items.map(self::value).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members = members.iter().filter(|(_, member)| !member.is_null());
            let members: Vec<String> = members
                .map(|(name, member)| format!("{} = {}", key(name), self::value(member)))
                .collect();
            if members.is_empty() {
                "{}".to_owned()
            } else {
                format!("{{ {} }}", members.join(", "))
            }
        }
    }
}

fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        basic_string(name)
    }
}

/// Text of several lines stands as it is, if TOML can hold it so.
fn string(text: &str) -> String {
    let is_literal = text.contains('\n')
        && !text.contains("'''")
        && !text.ends_with('\'')
        && text
            .chars()
            .all(|c| c == '\n' || c == '\t' || !c.is_control());
    if is_literal {
        // A line end right after the quotes is not part of the text.
        format!("'''\n{text}'''")
    } else {
        basic_string(text)
    }
}

fn basic_string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn values_are_read_back_as_they_were() {
        let texts = [
            "",
            "plain",
            "two\nlines",
            "\nfirst line empty",
            "quotes ''' in\nlines",
            "ends with\n'",
            "tab\tand \"quotes\" \\ \u{7f} \u{1} \r\n",
            "ä 漢 😀",
        ];
        let value = json!({
            "texts": texts,
            "a key": { "n": 1, "f": 1.5, "e": 1e30, "big": u32::MAX, "no": false },
            "": [],
            "none": {},
        });
        let text = format!("x = {}", super::value(&value));
        let read: toml::Table = toml::from_str(&text).unwrap();
        assert_eq!(json!(read["x"]), value, "{text}");
    }
}
