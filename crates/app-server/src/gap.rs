//! Messages with bulk in them, without a copy of it on the way.
//!
//! The message is written as any other one, with nothing in the place of the bulk; that is then put in
//! as it comes: bytes as base64, or a list that is JSON already.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

/// The member of a message that has nothing in it yet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gap {
    /// An empty text, under this name.
    Text(&'static str),
    /// An empty list, under this name.
    List(&'static str),
}

impl Gap {
    /// What of a message stands before the value that goes into the gap, and what behind it: with the
    /// quotes for a text, without the brackets for a list. None if there is no such gap.
    pub(crate) fn find(self, message: &[u8]) -> Option<(&[u8], &[u8])> {
        // A quote inside of a text has a backslash before it: this can only be the member itself.
        let (before, after) = match self {
            Self::Text(name) => (format!("\"{name}\":\""), "\""),
            Self::List(name) => (format!("\"{name}\":"), "[]"),
        };
        let at = memchr::memmem::find(message, (before.clone() + after).as_bytes())?;
        let (before, rest) = message.split_at(at + before.len());
        let value = if matches!(self, Self::Text(_)) { 0 } else { 2 };
        Some((before, &rest[value..]))
    }
}

/// A message with a gap: what stands before it, and what behind it.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(crate) before: Bytes,
    pub(crate) after: Bytes,
}

impl Template {
    /// None if the line has no such gap.
    pub(crate) fn new(line: &Bytes, gap: Gap) -> Option<Self> {
        let (before, after) = gap.find(line)?;
        Some(Self {
            before: line.slice_ref(before),
            after: line.slice_ref(after),
        })
    }

    /// Begins a line that will hold about so many bytes as base64.
    pub(crate) fn begin_base64(&self, bytes: usize) -> Line {
        let expected = bytes.div_ceil(3).saturating_mul(4);
        let mut line = Vec::with_capacity(self.before.len() + expected + self.after.len());
        line.extend_from_slice(&self.before);
        Line {
            line,
            after: self.after.clone(),
        }
    }

    /// A line with these bytes as base64.
    pub(crate) fn fill_base64(&self, bytes: &[u8]) -> Bytes {
        let mut line = self.begin_base64(bytes.len());
        line.push_base64(bytes);
        line.finish()
    }
}

/// A line in the making.
#[derive(Debug)]
pub(crate) struct Line {
    line: Vec<u8>,
    after: Bytes,
}

impl Line {
    /// Adds bytes as base64. Only the last ones may be of a number that three does not divide.
    pub(crate) fn push_base64(&mut self, bytes: &[u8]) {
        let start = self.line.len();
        self.line.resize(start + bytes.len().div_ceil(3) * 4, b'=');
        // There is exactly the room that it takes.
        if let Err(error) = STANDARD.encode_slice(bytes, &mut self.line[start..]) {
            tracing::error!(%error, "bytes could not be written as base64");
        }
    }

    pub(crate) fn finish(mut self) -> Bytes {
        self.line.extend_from_slice(&self.after);
        self.line.into()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_stand_where_the_empty_text_stood() {
        let name = r#"a\"data\":\"\"b"#;
        let line = format!("{{\"id\":\"{name}\",\"data\":\"\",\"more\":1}}\n");
        let template = Template::new(&line.into(), Gap::Text("data")).unwrap();
        for length in [0, 1, 2, 3, 100] {
            let bytes: Vec<u8> = (0..length).collect();
            let text = STANDARD.encode(&bytes);
            let expected = format!("{{\"id\":\"{name}\",\"data\":\"{text}\",\"more\":1}}\n");
            assert_eq!(template.fill_base64(&bytes), expected);
        }
        assert!(Template::new(&Bytes::from_static(b"{}"), Gap::Text("data")).is_none());
    }

    #[test]
    fn a_list_stands_where_the_empty_one_stood() {
        let line = Bytes::from_static(br#"{"name":"\"turns\":[]","turns":[],"more":[]}"#);
        let template = Template::new(&line, Gap::List("turns")).unwrap();
        assert_eq!(template.before, r#"{"name":"\"turns\":[]","turns":"#);
        assert_eq!(template.after, r#","more":[]}"#);
    }

    #[test]
    fn pieces_make_the_same_line_as_the_whole() {
        let line = Bytes::from_static(b"{\"d\":\"\"}");
        let template = Template::new(&line, Gap::Text("d")).unwrap();
        let mut line = template.begin_base64(7);
        line.push_base64(b"abc");
        line.push_base64(b"defg");
        assert_eq!(line.finish(), template.fill_base64(b"abcdefg"));
    }
}
