//! A text of the graph. A long one stays in the payload file that it came with, and is read there when it is needed.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::Arc;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_128;

use crate::json::{Escapes, JsonString, decode, escaped};
use crate::payload_files::PayloadFile;

/// A text of so many bytes is left in its file.
const MIN_LONG_TEXT: usize = 1024;

/// A text, which may be in a file.
#[derive(Clone)]
pub struct Text(TextPlace);

#[derive(Clone)]
enum TextPlace {
    Held(Box<str>),
    Left(Arc<LeftText>),
}

/// A text in a file, between quotes.
struct LeftText {
    file: Arc<PayloadFile>,
    start: u64,
    /// Of what is between the quotes, as the hash.
    size: usize,
    hash: u128,
    escapes: Escapes,
    length: usize,
    key: u128,
    opens_object: bool,
}

impl Text {
    /// The number of its bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            TextPlace::Held(text) => text.len(),
            TextPlace::Left(left) => left.length,
        }
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text.
    ///
    /// # Errors
    /// Its file is no longer there, or is another one.
    pub fn read(&self) -> io::Result<Cow<'_, str>> {
        match &self.0 {
            TextPlace::Held(text) => Ok(Cow::Borrowed(text)),
            TextPlace::Left(left) => left.read().map(Cow::Owned),
        }
    }

    /// The text, or why there is none, for people.
    #[must_use]
    pub fn shown(&self) -> Cow<'_, str> {
        let read = self.read();
        read.unwrap_or_else(|error| Cow::Owned(format!("[not readable: {error}]")))
    }

    /// What equal texts have in common, wherever they are.
    pub(crate) fn key(&self) -> u128 {
        match &self.0 {
            TextPlace::Held(text) => text_key(text),
            TextPlace::Left(left) => left.key,
        }
    }

    /// Whether its first character is the one of a JSON object.
    pub(crate) fn opens_object(&self) -> bool {
        match &self.0 {
            TextPlace::Held(text) => opens_object(text),
            TextPlace::Left(left) => left.opens_object,
        }
    }
}

/// The key that a text with this content has.
pub(crate) fn text_key(text: &str) -> u128 {
    xxh3_128(escaped(text).as_bytes())
}

fn opens_object(text: &str) -> bool {
    text.trim_ascii_start().starts_with('{')
}

impl From<&JsonString<'_>> for Text {
    fn from(string: &JsonString<'_>) -> Self {
        let left = LeftText::from_string(string).map(|left| TextPlace::Left(Arc::new(left)));
        Self(left.unwrap_or_else(|| TextPlace::Held(string.as_str().into())))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(TextPlace::Held(text.into()))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(TextPlace::Held(text.into()))
    }
}

impl LeftText {
    /// None for a string that is short, or in no file.
    fn from_string(string: &JsonString<'_>) -> Option<Self> {
        let place = string.place().filter(|place| {
            place.text.len() >= MIN_LONG_TEXT
                && place.file.has(place.start as u64, place.text.len())
        })?;
        let hash = xxh3_128(place.text.as_bytes());
        let (length, key, opens_object) = match place.escapes {
            Escapes::None => (place.text.len(), hash, opens_object(place.text)),
            Escapes::Canonical => {
                let length = decoded_length(place.text);
                (length, hash, opens_object_escaped(place.text))
            }
            Escapes::Other | Escapes::Missing => {
                let text = string.as_str();
                (text.len(), text_key(text), opens_object(text))
            }
        };
        Some(Self {
            file: Arc::clone(place.file),
            start: place.start as u64,
            size: place.text.len(),
            hash,
            escapes: place.escapes,
            length,
            key,
            opens_object,
        })
    }

    /// What is between the quotes, with the quotes.
    fn quoted(&self) -> io::Result<String> {
        let start = self.start.saturating_sub(1);
        let read = self.file.read(start, self.size + 2);
        let bytes = read.map_err(|error| self.file.failed(error))?;
        let is_same = bytes.len() == self.size + 2
            && bytes.starts_with(b"\"")
            && bytes.ends_with(b"\"")
            && xxh3_128(&bytes[1..=self.size]) == self.hash;
        let text = String::from_utf8(bytes).ok().filter(|_| is_same);
        text.ok_or_else(|| self.file.changed())
    }

    fn read(&self) -> io::Result<String> {
        let mut quoted = self.quoted()?;
        match self.escapes {
            Escapes::None | Escapes::Missing => {
                quoted.pop();
                quoted.remove(0);
                Ok(quoted)
            }
            Escapes::Canonical | Escapes::Other => Ok(decode(&quoted[1..=self.size])),
        }
    }

    /// A text whose escapes are those of a compact text goes out as it is in the file.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.escapes {
            Escapes::None | Escapes::Canonical => {
                let quoted = self.quoted().map_err(S::Error::custom)?;
                let raw = RawValue::from_string(quoted).map_err(S::Error::custom)?;
                raw.serialize(serializer)
            }
            Escapes::Other | Escapes::Missing => {
                let text = self.read().map_err(S::Error::custom)?;
                serializer.serialize_str(&text)
            }
        }
    }
}

/// The length of a text with the escapes of compact texts, without them.
fn decoded_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut length, mut from) = (bytes.len(), 0);
    while let Some(at) = memchr::memchr(b'\\', &bytes[from..]) {
        let at = from + at;
        let escape = if bytes.get(at + 1) == Some(&b'u') {
            6
        } else {
            2
        };
        // The escape of a compact text stands for one byte.
        length -= escape - 1;
        from = at + escape;
    }
    length
}

fn opens_object_escaped(mut text: &str) -> bool {
    loop {
        let blank = [" ", "\\n", "\\r", "\\t", "\\f"];
        let rest = blank.iter().find_map(|blank| text.strip_prefix(blank));
        match rest {
            Some(rest) => text = rest,
            None => return text.starts_with('{'),
        }
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            TextPlace::Held(text) => serializer.serialize_str(text),
            TextPlace::Left(left) => left.serialize(serializer),
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (TextPlace::Held(one), TextPlace::Held(other)) => one == other,
            _ => self.len() == other.len() && self.key() == other.key(),
        }
    }
}

impl Eq for Text {}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            TextPlace::Held(text) => text.fmt(f),
            TextPlace::Left(left) => write!(f, "{} bytes of {:?}", left.length, left.file),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::json::Scanner;
    use crate::payload_files::{PayloadBytes, PayloadFolder, PayloadPlace};

    /// A text that was left in a file with these bytes between its quotes.
    fn left(bundle: &tempfile::TempDir, raw: &str) -> Text {
        let payload = format!(r#"{{ "text": "{raw}" }}"#);
        fs::write(bundle.path().join("1.json"), &payload).unwrap();
        let content = PayloadBytes {
            bytes: payload.as_bytes(),
            file: Some(
                &PayloadFolder::new(bundle.path()).file(PayloadPlace::File("1.json".into())),
            ),
        };
        let value = Scanner::parse_payload(&content).unwrap();
        let text = Text::from(value.get_string("text").unwrap());
        assert!(matches!(text.0, TextPlace::Left(_)));
        text
    }

    #[test]
    fn text_stored_in_a_file_equals_its_original() {
        let bundle = tempfile::tempdir().unwrap();
        for piece in [
            "plain ",
            r#"\n \"é\" \\ \u0007"#,
            r"\u000A\/",
            r"\u00e9\ud83d\ude00 ",
            r"\t\n {",
        ] {
            let raw = piece.repeat(MIN_LONG_TEXT);
            let content: String = serde_json::from_str(&format!("\"{raw}\"")).unwrap();
            let (text, held) = (left(&bundle, &raw), Text::from(content.clone()));
            assert_eq!(text.read().unwrap(), content);
            assert_eq!(text.len(), content.len());
            assert_eq!(text.key(), held.key(), "{piece}");
            assert_eq!(text, held);
            assert_eq!(text.opens_object(), held.opens_object(), "{piece}");
            let written = serde_json::to_string_pretty(&text).unwrap();
            assert_eq!(written, serde_json::to_string(&content).unwrap());
        }
    }

    #[test]
    fn a_file_that_changed_is_an_error() {
        let bundle = tempfile::tempdir().unwrap();
        let text = left(&bundle, &"a".repeat(MIN_LONG_TEXT));
        let path = bundle.path().join("1.json");
        let changed = fs::read_to_string(&path).unwrap().replacen("aa", "ab", 1);
        for content in [changed.as_str(), "", "{}"] {
            fs::write(&path, content).unwrap();
            let error = text.read().unwrap_err().to_string();
            assert!(error.contains("1.json: it was changed"), "{error}");
            assert!(serde_json::to_string(&text).is_err());
            assert!(text.shown().starts_with("[not readable: 1.json"));
        }
        fs::remove_file(path).unwrap();
        assert!(text.read().is_err());
    }
}
