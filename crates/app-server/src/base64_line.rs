//! Messages whose bulk is bytes in base64, without a copy of them on the way.
//!
//! The message is written as any other one, with an empty text in the member's place; the bytes are
//! then put in there as they come.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

/// A message with a gap.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    before: Bytes,
    after: Bytes,
}

impl Template {
    /// `line` has the member `name` with an empty text. None if it does not.
    pub(crate) fn new(line: &Bytes, name: &str) -> Option<Self> {
        // A quote inside of a text has a backslash before it: this can only be the member itself.
        let gap = format!("\"{name}\":\"\"");
        let at = memchr::memmem::find(line, gap.as_bytes())? + gap.len() - 1;
        Some(Self {
            before: line.slice(..at),
            after: line.slice(at..),
        })
    }

    /// Begins a line that will hold about `expected` bytes.
    pub(crate) fn begin(&self, expected: usize) -> Base64Line {
        let encoded = expected.div_ceil(3).saturating_mul(4);
        let mut line = Vec::with_capacity(self.before.len() + encoded + self.after.len());
        line.extend_from_slice(&self.before);
        Base64Line {
            line,
            after: self.after.clone(),
        }
    }

    /// A line with these bytes.
    pub(crate) fn fill(&self, bytes: &[u8]) -> Bytes {
        let mut line = self.begin(bytes.len());
        line.push(bytes);
        line.finish()
    }
}

/// A line in the making.
#[derive(Debug)]
pub(crate) struct Base64Line {
    line: Vec<u8>,
    after: Bytes,
}

impl Base64Line {
    /// Adds bytes. Only the last ones may be of a number that three does not divide.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
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
        let template = Template::new(&line.into(), "data").unwrap();
        for length in [0, 1, 2, 3, 100] {
            let bytes: Vec<u8> = (0..length).collect();
            let text = STANDARD.encode(&bytes);
            let expected = format!("{{\"id\":\"{name}\",\"data\":\"{text}\",\"more\":1}}\n");
            assert_eq!(template.fill(&bytes), expected);
        }
        assert!(Template::new(&Bytes::from_static(b"{}"), "data").is_none());
    }

    #[test]
    fn pieces_make_the_same_line_as_the_whole() {
        let template = Template::new(&Bytes::from_static(b"{\"d\":\"\"}"), "d").unwrap();
        let mut line = template.begin(7);
        line.push(b"abc");
        line.push(b"defg");
        assert_eq!(line.finish(), template.fill(b"abcdefg"));
    }
}
