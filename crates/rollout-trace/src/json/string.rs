//! A string of a JSON text, decoded when somebody asks for it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Deref;
use std::sync::Arc;

use super::escapes::{Escapes, decode, escaped};
use crate::payload_files::{PayloadBytes, PayloadFile};

/// One string.
#[derive(Debug, Clone)]
pub(crate) struct JsonString<'a> {
    text: Cow<'a, str>,
    escapes: Escapes,
    decoded: OnceCell<Box<str>>,
    payload: Option<&'a PayloadBytes<'a>>,
}

/// Where a string is between its quotes.
pub(crate) struct StringPlace<'s> {
    pub(crate) file: &'s Arc<PayloadFile>,
    pub(crate) start: usize,
    pub(crate) text: &'s str,
    pub(crate) escapes: Escapes,
}

impl<'a> JsonString<'a> {
    pub(super) fn scanned(
        text: &'a str,
        escapes: Escapes,
        payload: Option<&'a PayloadBytes<'a>>,
    ) -> Self {
        Self {
            text: Cow::Borrowed(text),
            escapes,
            decoded: OnceCell::new(),
            payload,
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        match self.escapes {
            Escapes::None | Escapes::Missing => &self.text,
            Escapes::Canonical | Escapes::Other => {
                self.decoded.get_or_init(|| decode(&self.text).into())
            }
        }
    }

    /// As a compact text has it between the quotes.
    pub(crate) fn escaped(&self) -> Cow<'_, str> {
        match self.escapes {
            Escapes::None | Escapes::Canonical => Cow::Borrowed(&self.text),
            Escapes::Other | Escapes::Missing => escaped(self.as_str()),
        }
    }

    /// Where to read it again, if it is in a file.
    pub(crate) fn place(&self) -> Option<StringPlace<'_>> {
        let PayloadBytes { bytes, file } = self.payload?;
        let start = self.text.as_ptr().addr();
        Some(StringPlace {
            file: file.as_ref()?,
            start: start.checked_sub(bytes.as_ptr().addr())?,
            text: &self.text,
            escapes: self.escapes,
        })
    }
}

impl From<String> for JsonString<'_> {
    fn from(text: String) -> Self {
        Self {
            text: Cow::Owned(text),
            escapes: Escapes::Missing,
            decoded: OnceCell::new(),
            payload: None,
        }
    }
}

impl Deref for JsonString<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for JsonString<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}
