//! The names of things: one type for each kind of id, so that none is passed for another.
//!
//! Ids from a log are shared strings, cheap to clone. The two that the reducer hands out are numbers.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}

text_ids! {
    /// A bundle.
    TraceId,
    /// The session that a bundle is about: the id of its root thread.
    RolloutId,
    /// A thread.
    ThreadId,
    /// A turn, as the client sees it.
    TurnId,
    /// One attempt at a model request.
    InferenceId,
    /// The provider's id of a response.
    ResponseId,
    /// The provider's id of an item, or ours for an item that we made.
    ResponseItemId,
    /// One dispatch of a tool.
    ToolCallId,
    /// The model's own id of a call, carried by the call item and its output item.
    CallId,
    /// One request to an MCP server.
    McpCallId,
    /// A code cell, named after the call that holds its source.
    CodeCellId,
    /// The handle of a code cell in the running session.
    RuntimeCellId,
    /// The handle of a nested tool call inside its cell.
    RuntimeToolId,
    /// An installed compaction.
    CompactionId,
    /// One attempt at a compaction.
    CompactionRequestId,
    /// An interaction edge.
    EdgeId,
    /// A payload file.
    PayloadId,
    /// A terminal: the process id that the model uses.
    TerminalId,
}

macro_rules! numbered_ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal),+ $(,)?) => {$(
        $(#[$doc])*
        ///
        /// Ordered as its text is, byte by byte: 10 comes before 2.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(u32);

        impl $name {
            pub(crate) fn new(number: u32) -> Self {
                Self(number)
            }

        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                compare_as_text(self.0, other.0)
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut buffer = [0; $prefix.len() + MAX_DIGITS];
                serializer.serialize_str(numbered(&mut buffer, $prefix, self.0))
            }
        }
    )+};
}

numbered_ids! {
    /// An item of the conversation, numbered in the order of creation.
    ItemId = "conversation_item:",
    /// An operation on a terminal, numbered in the order of creation.
    OperationId = "terminal_operation:",
}

impl ItemId {
    /// Its number, from 1.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }
}

const MAX_DIGITS: usize = 10;

/// Writes prefix and number at the end of the buffer. State files hold these by the million.
fn numbered<'b>(buffer: &'b mut [u8], prefix: &str, mut number: u32) -> &'b str {
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    at -= prefix.len();
    buffer[at..at + prefix.len()].copy_from_slice(prefix.as_bytes());
    std::str::from_utf8(&buffer[at..]).unwrap_or_default()
}

/// Compares two numbers as their decimal texts compare.
fn compare_as_text(left: u32, right: u32) -> Ordering {
    let digits = |number: u32| number.checked_ilog10().unwrap_or(0);
    let (left_digits, right_digits) = (digits(left), digits(right));
    let widest = left_digits.max(right_digits);
    let scaled = |number: u32, digits: u32| u64::from(number) * 10_u64.pow(widest - digits);
    scaled(left, left_digits)
        .cmp(&scaled(right, right_digits))
        .then(left_digits.cmp(&right_digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_ids_order_as_text() {
        let mut numbers: Vec<u32> = vec![
            0,
            1,
            2,
            9,
            10,
            11,
            19,
            20,
            99,
            100,
            101,
            1000,
            4_000_000_000,
        ];
        numbers.sort_by(|a, b| compare_as_text(*a, *b));
        let mut texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
        let by_number = texts.clone();
        texts.sort();
        assert_eq!(by_number, texts);
    }

    #[test]
    fn numbered_ids_print_and_serialise_alike() {
        for number in [0, 7, 10, u32::MAX] {
            let id = ItemId::new(number);
            assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{id}\""));
        }
    }
}
