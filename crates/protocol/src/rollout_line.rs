//! The lines of a rollout.
//!
//! A line is an envelope, `{"timestamp", "type", "payload"}`, with fields in any order. [`RawRolloutLine`] is the envelope
//! with the payload borrowed as text, so that a search for one kind of line does not parse the others. [`RolloutLine`] is a
//! line with its parsed payload. A line with an unknown type or an invalid payload is kept and written back byte for byte.
//!
//! Nearly all lines have the same order of fields, so their first bytes identify them ([`LineStart`]).

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::event::EventMsg;
use crate::json::{BorrowedText, JsonError, from_json};
use crate::response_item::{AgentMessagePart, ResponseItem};
use crate::session_meta::SessionMeta;
use crate::turn_context::TurnContext;

/// The envelope of a line with its unparsed payload.
#[derive(Clone, Debug, Deserialize)]
pub struct RawRolloutLine<'a> {
    /// The time of writing, in RFC 3339.
    #[serde(borrow)]
    pub timestamp: Cow<'a, str>,
    /// The type of the line.
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub payload: &'a RawValue,
}

impl<'a> RawRolloutLine<'a> {
    /// Parses the envelope of a line.
    pub fn read(line: &'a str) -> Result<Self, JsonError> {
        from_json(line)
    }

    /// The `type` inside the payload, which events and response items have. The rest of the payload is not read.
    pub fn payload_type(&self) -> Option<Cow<'a, str>> {
        let mut found = None;
        let mut payload = serde_json::Deserializer::from_str(self.payload.get());
        // Stopping early is reported as an error, which is expected here.
        let _ = payload.deserialize_map(TypeVisitor(&mut found));
        found
    }
}

/// The parsed first bytes of a line in the usual form, `{"timestamp":"…","type":"…","payload":…}`, in this order and
/// without blanks. Some engines write a line number after the timestamp: `"ordinal":7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineStart<'a> {
    /// The time of writing.
    pub timestamp: &'a str,
    /// The line number, if the engine writes one.
    pub ordinal: Option<u64>,
    /// The type of the line.
    pub kind: &'a str,
    /// The `type` inside the payload, if it is the first field.
    pub payload_type: Option<&'a str>,
    /// The payload and, if nothing follows it, the closing brace of the line.
    rest: &'a [u8],
}

impl<'a> LineStart<'a> {
    /// Parses the first bytes of a line; none if they do not have the usual form.
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let (timestamp, rest) = short_text(line.strip_prefix(b"{\"timestamp\":\"")?)?;
        let (ordinal, rest) = ordinal(rest);
        let (kind, rest) = short_text(rest.strip_prefix(b",\"type\":\"")?)?;
        let rest = rest.strip_prefix(b",\"payload\":")?;
        let inner = rest.strip_prefix(b"{\"type\":\"").and_then(short_text);
        Some(Self {
            timestamp,
            ordinal,
            kind,
            payload_type: inner.map(|(kind, _)| kind),
            rest,
        })
    }

    /// Parses the whole line; none if it has another form or an unknown type.
    pub fn read(&self) -> Option<RolloutLine> {
        // If the line has more fields after the payload, this is not valid JSON.
        let payload = std::str::from_utf8(self.rest.strip_suffix(b"}")?).ok()?;
        let item = read_item(self.kind, payload).ok()??;
        let timestamp = self.timestamp.to_owned();
        Some(RolloutLine { timestamp, item })
    }
}

/// The line number, if there is one, and what follows it.
fn ordinal(rest: &[u8]) -> (Option<u64>, &[u8]) {
    let Some(number) = rest.strip_prefix(b",\"ordinal\":") else {
        return (None, rest);
    };
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit());
    let (digits, rest) = number.split_at(digits.count());
    let digits = std::str::from_utf8(digits).ok();
    (digits.and_then(|digits| digits.parse().ok()), rest)
}

/// A short text without escapes, up to its closing quote.
fn short_text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let window = &bytes[..bytes.len().min(64)];
    let end = memchr::memchr2(b'"', b'\\', window)?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    (bytes[end] == b'"').then_some((text, &bytes[end + 1..]))
}

struct TypeVisitor<'f, 'a>(&'f mut Option<Cow<'a, str>>);

impl<'a> Visitor<'a> for TypeVisitor<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(BorrowedText(name)) = fields.next_key()? {
            if name == "type" {
                let BorrowedText(kind) = fields.next_value()?;
                *self.0 = Some(kind);
                break;
            }
            fields.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// A parsed line.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutLine {
    /// The time of writing, in RFC 3339 with milliseconds, in UTC.
    pub timestamp: String,
    /// The content.
    pub item: RolloutItem,
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RolloutItem {
    /// The metadata of the thread. The first line; a fork has that of its source as the second.
    SessionMeta(Box<SessionMeta>),
    /// An item was added to the history.
    ResponseItem(ResponseItem),
    /// Something happened.
    EventMsg(EventMsg),
    /// The settings of a turn.
    TurnContext(Box<TurnContext>),
    /// The history was compacted.
    Compacted(Compacted),
    /// What the user has pinned from here on.
    Pins(ThreadPins),
    /// A line that this version does not understand.
    Kept(KeptLine),
}

/// The history was compacted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compacted {
    /// The summary; empty if the model's server compacted.
    pub message: String,
    /// The whole history after it. Older records have the summary only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement_history: Option<Vec<ResponseItem>>,
}

/// What no compaction drops: all that is pinned. Programs that do not know this line skip it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadPins {
    /// In the order in which they were pinned.
    pub pins: Vec<ThreadPin>,
}

/// A pinned text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadPin {
    /// The id.
    pub id: String,
    /// The text.
    pub text: String,
    /// The item that it is the text of; none if the user wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
}

/// A line that this version cannot parse, as it is in the file.
#[derive(Clone, Debug)]
pub struct KeptLine {
    text: Box<RawValue>,
    problem: Option<JsonError>,
}

impl KeptLine {
    /// The whole line, trimmed.
    pub fn text(&self) -> &str {
        self.text.get()
    }

    /// Why the payload is invalid; absent if its type is unknown.
    pub fn problem(&self) -> Option<&JsonError> {
        self.problem.as_ref()
    }
}

impl PartialEq for KeptLine {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl RolloutLine {
    /// Parses a line. Only a text without a valid envelope is an error.
    pub fn read(line: &str) -> Result<Self, JsonError> {
        // With the usual order of fields the payload is parsed in one pass, otherwise in two.
        if let Some(line) = LineStart::parse(line.as_bytes()).and_then(|start| start.read()) {
            return Ok(line);
        }
        let raw = RawRolloutLine::read(line)?;
        let item = match read_item(&raw.kind, raw.payload.get()) {
            Ok(Some(item)) => item,
            Ok(None) => RolloutItem::Kept(keep(line, None)?),
            Err(problem) => RolloutItem::Kept(keep(line, Some(problem))?),
        };
        Ok(Self {
            timestamp: raw.timestamp.into_owned(),
            item,
        })
    }
}

/// Parses the payload; none if its type is unknown.
fn read_item(kind: &str, payload: &str) -> Result<Option<RolloutItem>, JsonError> {
    let item = match kind {
        "session_meta" => RolloutItem::SessionMeta(from_json(payload)?),
        "response_item" => RolloutItem::ResponseItem(from_json(payload)?),
        "event_msg" => RolloutItem::EventMsg(from_json(payload)?),
        "turn_context" => RolloutItem::TurnContext(from_json(payload)?),
        "compacted" => RolloutItem::Compacted(from_json(payload)?),
        "thread_pins" => RolloutItem::Pins(from_json(payload)?),
        "inter_agent_communication" => {
            let communication: AgentCommunication = from_json(payload)?;
            RolloutItem::ResponseItem(communication.into())
        }
        _ => return Ok(None),
    };
    Ok(match item {
        RolloutItem::ResponseItem(ResponseItem::Other(_))
        | RolloutItem::EventMsg(EventMsg::Unknown(_)) => None,
        known => Some(known),
    })
}

/// A message between agents as some engines store it.
#[derive(Deserialize)]
struct AgentCommunication {
    author: String,
    recipient: String,
    content: String,
    encrypted_content: Option<String>,
}

impl From<AgentCommunication> for ResponseItem {
    fn from(message: AgentCommunication) -> Self {
        let part = match message.encrypted_content {
            Some(encrypted_content) => AgentMessagePart::EncryptedContent { encrypted_content },
            None => AgentMessagePart::InputText {
                text: message.content,
            },
        };
        Self::AgentMessage {
            author: message.author,
            recipient: message.recipient,
            content: vec![part],
            id: None,
        }
    }
}

fn keep(line: &str, problem: Option<JsonError>) -> Result<KeptLine, JsonError> {
    Ok(KeptLine {
        text: from_json(line)?,
        problem,
    })
}

impl Serialize for RolloutLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct LineEnvelope<'a, P> {
            timestamp: &'a str,
            r#type: &'a str,
            payload: &'a P,
        }

        fn line<S: Serializer, P: Serialize>(
            serializer: S,
            timestamp: &str,
            kind: &str,
            payload: &P,
        ) -> Result<S::Ok, S::Error> {
            let r#type = kind;
            LineEnvelope {
                timestamp,
                r#type,
                payload,
            }
            .serialize(serializer)
        }

        let at = &self.timestamp;
        match &self.item {
            RolloutItem::SessionMeta(meta) => line(serializer, at, "session_meta", meta),
            RolloutItem::ResponseItem(item) => line(serializer, at, "response_item", item),
            RolloutItem::EventMsg(event) => line(serializer, at, "event_msg", event),
            RolloutItem::TurnContext(context) => line(serializer, at, "turn_context", context),
            RolloutItem::Compacted(compacted) => line(serializer, at, "compacted", compacted),
            RolloutItem::Pins(pins) => line(serializer, at, "thread_pins", pins),
            RolloutItem::Kept(kept) => kept.text.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> RolloutLine {
        RolloutLine::read(line).unwrap()
    }

    fn write(line: &RolloutLine) -> String {
        serde_json::to_string(line).unwrap()
    }

    #[test]
    fn the_envelope_is_read_without_the_payload() {
        let line = r#"{"payload":{"x":1,"type":"user_message","y":[]},"later":0,"type":"event_msg","timestamp":"t"}"#;
        let raw = RawRolloutLine::read(line).unwrap();
        assert_eq!((&*raw.timestamp, &*raw.kind), ("t", "event_msg"));
        assert_eq!(raw.payload.get(), r#"{"x":1,"type":"user_message","y":[]}"#);
        assert_eq!(raw.payload_type().as_deref(), Some("user_message"));
        assert!(matches!(raw.timestamp, Cow::Borrowed(_)));

        let none = r#"{"timestamp":"t","type":"compacted","payload":{"message":""}}"#;
        assert_eq!(RawRolloutLine::read(none).unwrap().payload_type(), None);
    }

    #[test]
    fn first_bytes_give_the_line_type() {
        let line = r#"{"timestamp":"t","type":"event_msg","payload":{"type":"x","a":"}"}}"#;
        let start = LineStart::parse(line.as_bytes()).unwrap();
        assert_eq!((start.timestamp, start.kind), ("t", "event_msg"));
        assert_eq!(start.payload_type, Some("x"));
        assert_eq!(start.read(), None, "nobody knows such an event");
        let numbered = line.replacen(",", ",\"ordinal\":12,", 1);
        let with_ordinal = LineStart {
            ordinal: Some(12),
            ..start
        };
        assert_eq!(LineStart::parse(numbered.as_bytes()), Some(with_ordinal));
        for unusual in [
            r#"{ "timestamp":"t","type":"event_msg","payload":{}}"#,
            r#"{"type":"event_msg","payload":{},"timestamp":"t"}"#,
            r#"{"timestamp":"\u0074","type":"event_msg","payload":{}}"#,
            "{\"timestamp\":\"t",
        ] {
            assert_eq!(LineStart::parse(unusual.as_bytes()), None, "{unusual}");
        }
    }

    #[test]
    fn members_after_the_payload_are_accepted() {
        let usual =
            r#"{"timestamp":"t","type":"event_msg","payload":{"type":"context_compacted"}}"#;
        let followed = usual.replace("}}", "},\"ordinal\":{}}");
        let compacted = read(usual);
        assert_eq!(
            compacted.item,
            RolloutItem::EventMsg(EventMsg::ContextCompacted)
        );
        assert_eq!(read(&followed), compacted);
        let start = |line: &str| LineStart::parse(line.as_bytes()).unwrap().read();
        assert_eq!(start(usual), Some(compacted));
        assert_eq!(start(&followed), None);
    }

    #[test]
    fn fields_may_come_in_any_order() {
        let line =
            read(r#"{"type":"event_msg","payload":{"type":"context_compacted"},"timestamp":"t"}"#);
        assert_eq!(line.item, RolloutItem::EventMsg(EventMsg::ContextCompacted));
        assert_eq!(
            write(&line),
            r#"{"timestamp":"t","type":"event_msg","payload":{"type":"context_compacted"}}"#
        );
    }

    #[test]
    fn unknown_rollout_lines_are_written_back_byte_for_byte() {
        for (text, problem) in [
            (
                r#"{"timestamp":"t", "type":"novelty","payload":[1.0, 1e3,123456789012345678901]}"#,
                None,
            ),
            (
                r#"{"timestamp":"t","type":"event_msg","payload":{"type":"novelty" ,"n":1.50}}"#,
                None,
            ),
            (
                r#"{"timestamp":"t","type":"response_item","payload":{"n":1e400,"type":"novelty"}}"#,
                Some("n"),
            ),
            (
                r#"{"timestamp":"t","type":"event_msg","payload":{"type":"warning","message":7}}"#,
                Some("message"),
            ),
            (
                r#"{"timestamp":"t","type":"turn_context","payload":null,"more":1}"#,
                Some(""),
            ),
        ] {
            let line = read(text);
            let RolloutItem::Kept(kept) = &line.item else {
                panic!("{text} was read");
            };
            assert_eq!(kept.problem().map(JsonError::path), problem);
            assert_eq!(write(&line), text);
        }
    }

    #[test]
    fn invalid_rollout_line_is_an_error() {
        for text in ["", "{", "7", r#"{"timestamp":"t","type":"event_msg"}"#] {
            assert!(RolloutLine::read(text).is_err(), "{text}");
        }
        let error = RolloutLine::read(r#"{"timestamp":7,"type":"x","payload":0}"#).unwrap_err();
        assert_eq!(error.path(), "timestamp");
    }
}
