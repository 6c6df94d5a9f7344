//! JSON with line breaks, as it stands in payload files, out of JSON without.

/// Lays out JSON text, which must be valid: two spaces a level, everything else as it was.
pub(crate) fn pretty(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() + json.len() / 4);
    let mut level = 0_usize;
    let mut rest = json;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'"' => {
                let end = end_of_string(rest);
                out.push(b'"');
                out.extend_from_slice(&rest[..end]);
                rest = &rest[end..];
            }
            b'{' | b'[' => {
                out.push(byte);
                let next = rest.trim_ascii_start();
                if let Some((&close @ (b'}' | b']'), after)) = next.split_first() {
                    out.push(close);
                    rest = after;
                } else {
                    level += 1;
                    break_line(&mut out, level);
                }
            }
            b'}' | b']' => {
                level = level.saturating_sub(1);
                break_line(&mut out, level);
                out.push(byte);
            }
            b',' => {
                out.push(b',');
                break_line(&mut out, level);
            }
            b':' => out.extend_from_slice(b": "),
            _ => out.push(byte),
        }
    }
    out
}

/// How many bytes are left of a string that has begun, with its closing quote.
fn end_of_string(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

fn break_line(out: &mut Vec<u8>, level: usize) {
    out.push(b'\n');
    out.resize(out.len() + 2 * level, b' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) {
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        let expected = serde_json::to_string_pretty(&value).unwrap();
        assert_eq!(
            String::from_utf8(pretty(json.as_bytes())).unwrap(),
            expected
        );
    }

    #[test]
    fn lays_out_as_the_serialiser_does() {
        check("1");
        check(r#"{"a":[1,2.5,{"b":null}],"c":{},"d":[],"e":"x, {\"y\": [\\]}","f\\":true}"#);
        check(" [ ] ");
        check(r#"[ { } , [ [ ] ] ]"#);
    }

    #[test]
    fn digits_stay() {
        let text = pretty(b"[1e400,1.10]");
        assert_eq!(text, b"[\n  1e400,\n  1.10\n]");
    }

    #[test]
    fn torn_text_does_no_harm() {
        for text in ["\"a\\", "{\"a\":", "]]]", "[1"] {
            pretty(text.as_bytes());
        }
    }
}
