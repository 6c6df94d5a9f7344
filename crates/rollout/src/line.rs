//! Encodes a line: the envelope around a payload that is already JSON.

use jiff::Timestamp;

/// The type of a line's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// Metadata of the thread; the first line.
    SessionMeta,
    /// An item of the history.
    ResponseItem,
    /// An event.
    EventMsg,
    /// The settings of a turn.
    TurnContext,
    /// A compaction.
    Compacted,
    /// What is pinned.
    Pins,
}

impl LineKind {
    fn name(self) -> &'static str {
        match self {
            Self::SessionMeta => "session_meta",
            Self::ResponseItem => "response_item",
            Self::EventMsg => "event_msg",
            Self::TurnContext => "turn_context",
            Self::Compacted => "compacted",
            Self::Pins => "thread_pins",
        }
    }
}

/// Appends one line to `out`.
pub(crate) fn encode(out: &mut Vec<u8>, at: Timestamp, kind: LineKind, payload: &[u8]) {
    out.reserve(payload.len() + 80);
    out.extend_from_slice(b"{\"timestamp\":\"");
    out.extend_from_slice(stamp(at).as_bytes());
    out.extend_from_slice(b"\",\"type\":\"");
    out.extend_from_slice(kind.name().as_bytes());
    out.extend_from_slice(b"\",\"payload\":");
    out.extend_from_slice(payload);
    out.extend_from_slice(b"}\n");
}

/// Formats a time as UTC with milliseconds.
pub(crate) fn stamp(at: Timestamp) -> String {
    format!("{at:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_envelope_around_the_payload() {
        let mut out = Vec::new();
        let at = "2026-03-01T10:00:00.0129Z".parse().unwrap();
        encode(&mut out, at, LineKind::EventMsg, br#"{"type":"x"}"#);
        let expected = "{\"timestamp\":\"2026-03-01T10:00:00.012Z\",\"type\":\"event_msg\",\"payload\":{\"type\":\"x\"}}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
