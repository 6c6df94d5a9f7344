//! Encodes messages with large members without copying them.
//!
//! The message is encoded with an empty member. The large value is then inserted there: bytes as base64, or a list
//! that is JSON already.

use bytes::Bytes;

/// The empty member of a message.
#[derive(Clone, Copy, Debug)]
pub enum Gap {
    /// An empty string with this name.
    Text(&'static str),
    /// An empty list with this name.
    List(&'static str),
}

impl Gap {
    /// The parts of a message before and after the inserted value: with the quotes of a string, without the brackets
    /// of a list. None if there is no such member.
    pub fn find(self, message: &[u8]) -> Option<(&[u8], &[u8])> {
        // Quotes in strings are escaped, so this can only be the member itself.
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

/// A message with a gap, split at the gap.
#[derive(Clone, Debug)]
pub struct Template {
    pub before: Bytes,
    pub after: Bytes,
}

impl Template {
    /// None if the line has no such gap.
    pub fn new(line: &Bytes, gap: Gap) -> Option<Self> {
        let (before, after) = gap.find(line)?;
        Some(Self {
            before: line.slice_ref(before),
            after: line.slice_ref(after),
        })
    }

    /// Starts a line with the capacity for about this number of bytes as base64.
    pub fn begin_base64(&self, bytes: usize) -> LineBuilder {
        let expected = bytes.div_ceil(3).saturating_mul(4);
        let mut line = Vec::with_capacity(self.before.len() + expected + self.after.len());
        line.extend_from_slice(&self.before);
        LineBuilder {
            line,
            after: self.after.clone(),
        }
    }

    /// A line with these bytes as base64.
    pub fn fill_base64(&self, bytes: &[u8]) -> Bytes {
        let mut line = self.begin_base64(bytes.len());
        line.push_base64(bytes);
        line.finish()
    }
}

/// A line under construction.
#[derive(Debug)]
pub struct LineBuilder {
    line: Vec<u8>,
    after: Bytes,
}

impl LineBuilder {
    /// Adds bytes as base64. Only the last call may add a number of bytes that is not divisible by three.
    pub fn push_base64(&mut self, bytes: &[u8]) {
        base64_simd::STANDARD.encode_append(bytes, &mut self.line);
    }

    pub fn finish(mut self) -> Bytes {
        self.line.extend_from_slice(&self.after);
        self.line.into()
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    #[test]
    fn bytes_replace_the_empty_text_in_place() {
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
    fn list_replaces_the_empty_one_in_place() {
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
