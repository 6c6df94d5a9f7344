//! The binary encoding of OTLP, which most backends require.
//!
//! It is made from the JSON encoding, so that both have the same contents. The messages and numbers of fields are those of
//! `opentelemetry/proto/trace/v1/trace.proto`, version 1.

use serde_json::Value;

/// How a value is encoded.
#[derive(Clone, Copy)]
enum Encoding {
    Text,
    /// Hexadecimal digits, as bytes.
    Hex,
    /// A number of 8 bytes, which JSON has as a string.
    Fixed64,
    Varint,
    Message(&'static [Field]),
}

/// A field of a message: its name in JSON, its number, its encoding.
struct Field(&'static str, u32, Encoding);

use Encoding::{Fixed64, Hex, Message, Text, Varint};

const VALUE: &[Field] = &[
    Field("stringValue", 1, Text),
    Field("boolValue", 2, Varint),
    Field("intValue", 3, Varint),
];
const ATTRIBUTE: &[Field] = &[Field("key", 1, Text), Field("value", 2, Message(VALUE))];
const EVENT: &[Field] = &[
    Field("timeUnixNano", 1, Fixed64),
    Field("name", 2, Text),
    Field("attributes", 3, Message(ATTRIBUTE)),
];
const LINK: &[Field] = &[
    Field("traceId", 1, Hex),
    Field("spanId", 2, Hex),
    Field("attributes", 4, Message(ATTRIBUTE)),
];
const STATUS: &[Field] = &[Field("message", 2, Text), Field("code", 3, Varint)];
const SPAN: &[Field] = &[
    Field("traceId", 1, Hex),
    Field("spanId", 2, Hex),
    Field("parentSpanId", 4, Hex),
    Field("name", 5, Text),
    Field("kind", 6, Varint),
    Field("startTimeUnixNano", 7, Fixed64),
    Field("endTimeUnixNano", 8, Fixed64),
    Field("attributes", 9, Message(ATTRIBUTE)),
    Field("events", 11, Message(EVENT)),
    Field("links", 13, Message(LINK)),
    Field("status", 15, Message(STATUS)),
];
const SCOPE: &[Field] = &[
    Field("name", 1, Text),
    Field("version", 2, Text),
    Field("attributes", 3, Message(ATTRIBUTE)),
];
const SCOPE_SPANS: &[Field] = &[
    Field("scope", 1, Message(SCOPE)),
    Field("spans", 2, Message(SPAN)),
    Field("schemaUrl", 3, Text),
];
const RESOURCE: &[Field] = &[Field("attributes", 1, Message(ATTRIBUTE))];
const RESOURCE_SPANS: &[Field] = &[
    Field("resource", 1, Message(RESOURCE)),
    Field("scopeSpans", 2, Message(SCOPE_SPANS)),
    Field("schemaUrl", 3, Text),
];
const REQUEST: &[Field] = &[Field("resourceSpans", 1, Message(RESOURCE_SPANS))];

/// Kinds of fields on the wire.
const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;

/// Encodes an `ExportTraceServiceRequest`.
pub(crate) fn encode(request: &Value) -> Vec<u8> {
    message(request, REQUEST)
}

fn message(value: &Value, fields: &[Field]) -> Vec<u8> {
    let mut out = Vec::new();
    for Field(name, number, encoding) in fields {
        match &value[*name] {
            Value::Null => {}
            Value::Array(values) => {
                for value in values {
                    field(&mut out, value, *number, *encoding);
                }
            }
            value => field(&mut out, value, *number, *encoding),
        }
    }
    out
}

fn field(out: &mut Vec<u8>, value: &Value, number: u32, encoding: Encoding) {
    let bytes = |out: &mut Vec<u8>, bytes: &[u8]| {
        varint(out, u64::from(number << 3 | BYTES));
        varint(out, bytes.len() as u64);
        out.extend_from_slice(bytes);
    };
    match encoding {
        Text => bytes(out, value.as_str().unwrap_or_default().as_bytes()),
        Hex => bytes(out, &from_hex(value.as_str().unwrap_or_default())),
        Message(fields) => bytes(out, &message(value, fields)),
        Fixed64 => {
            varint(out, u64::from(number << 3 | FIXED64));
            out.extend_from_slice(&integer(value).to_le_bytes());
        }
        Varint => {
            varint(out, u64::from(number << 3 | VARINT));
            varint(out, integer(value).cast_unsigned());
        }
    }
}

/// An integer; JSON has those of 64 bits as strings.
fn integer(value: &Value) -> i64 {
    match value {
        Value::Bool(value) => i64::from(*value),
        Value::String(digits) => digits.parse().unwrap_or_default(),
        value => value.as_i64().unwrap_or_default(),
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn from_hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks_exact(2);
    pairs
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_encoded_by_their_kinds() {
        let span = json!({
            "traceId": "0102", "name": "chat x", "kind": 3, "startTimeUnixNano": "300",
            "attributes": [{ "key": "n", "value": { "intValue": "-1" } }],
            "status": { "code": 2, "message": "no" },
        });
        let encoded = message(&span, SPAN);
        let expected = [
            &[0x0a, 2, 1, 2][..],
            b"\x2a\x06chat x",
            &[0x30, 3],
            &[0x39, 0x2c, 1, 0, 0, 0, 0, 0, 0],
            &[0x4a, 16, 0x0a, 1, b'n', 0x12, 11],
            &[0x18, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            &[0x7a, 6, 0x12, 2, b'n', b'o', 0x18, 2],
        ]
        .concat();
        assert_eq!(encoded, expected);
    }
}
