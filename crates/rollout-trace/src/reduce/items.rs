//! The item lists of a payload, read element by element.
//!
//! Most items of a request were in the request before, in the same place and in the same bytes. Such an item is
//! recognised by its hash and passed over; only what is new is read.

use std::borrow::Cow;

use crate::format::Schema;
use crate::ids::{ItemId, PayloadId, ResponseItemId};
use crate::json::{Json, Scanner, SyntaxError};
use crate::model::Usage;

use super::conversation::Conversation;
use super::fault::Fault;
use super::identity::RawForm;
use super::normalise::{Normalised, Normaliser};

/// An item of a list, before it is placed in the conversation.
pub(super) enum Candidate<'a> {
    /// The bytes of an item that is already there.
    Known {
        item: ItemId,
        bytes: &'a [u8],
    },
    Read {
        item: Normalised,
        bytes: &'a [u8],
    },
}

/// The items that could be read, and what was wrong with the others.
#[derive(Default)]
pub(super) struct ItemList<'a> {
    pub(super) candidates: Vec<Candidate<'a>>,
    pub(super) faults: Vec<Fault>,
}

/// The value of a member that should be a list of items.
pub(super) enum Member<'a> {
    Missing,
    NotArray,
    Items(ItemList<'a>),
}

impl<'a> Member<'a> {
    /// The list, when there is one.
    pub(super) fn items(self) -> Option<ItemList<'a>> {
        match self {
            Self::Items(list) => Some(list),
            Self::Missing | Self::NotArray => None,
        }
    }
}

/// The members of a request payload that the reducer uses.
pub(super) struct RequestBody<'a> {
    pub(super) input: Member<'a>,
    pub(super) previous_response_id: Option<String>,
}

/// The members of a response payload that the reducer uses.
pub(super) struct ResponseBody<'a> {
    pub(super) output: Member<'a>,
    pub(super) usage: Option<Usage>,
}

/// The members of a checkpoint payload that the reducer uses.
pub(super) struct CheckpointBody<'a> {
    pub(super) input: Member<'a>,
    pub(super) replacement: Member<'a>,
}

/// Reads the item lists of one payload.
pub(super) struct ListReader<'r> {
    pub(super) conversation: &'r Conversation,
    pub(super) payload: &'r PayloadId,
    pub(super) schema: Schema,
}

impl ListReader<'_> {
    /// `expected` are the items that the list is likely to begin with.
    pub(super) fn request<'a>(
        &self,
        bytes: &'a [u8],
        expected: &[ItemId],
    ) -> Result<RequestBody<'a>, SyntaxError> {
        let mut body = RequestBody {
            input: Member::Missing,
            previous_response_id: None,
        };
        members(bytes, |scanner, key| {
            match key.as_ref() {
                "input" => body.input = self.list(bytes, scanner, expected)?,
                "previous_response_id" => {
                    body.previous_response_id = scanner.value()?.as_str().map(str::to_owned);
                }
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        Ok(body)
    }

    pub(super) fn response<'a>(&self, bytes: &'a [u8]) -> Result<ResponseBody<'a>, SyntaxError> {
        let mut body = ResponseBody {
            output: Member::Missing,
            usage: None,
        };
        members(bytes, |scanner, key| {
            match key.as_ref() {
                "output_items" => body.output = self.list(bytes, scanner, &[])?,
                "token_usage" => body.usage = usage(&scanner.value()?, self.schema),
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        Ok(body)
    }

    pub(super) fn checkpoint<'a>(
        &self,
        bytes: &'a [u8],
        expected: &[ItemId],
    ) -> Result<CheckpointBody<'a>, SyntaxError> {
        let mut body = CheckpointBody {
            input: Member::Missing,
            replacement: Member::Missing,
        };
        members(bytes, |scanner, key| {
            match key.as_ref() {
                "input_history" => body.input = self.list(bytes, scanner, expected)?,
                "replacement_history" => body.replacement = self.list(bytes, scanner, &[])?,
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        Ok(body)
    }

    fn list<'a>(
        &self,
        bytes: &'a [u8],
        scanner: &mut Scanner<'a>,
        expected: &[ItemId],
    ) -> Result<Member<'a>, SyntaxError> {
        if scanner.peek() != Some(b'[') {
            scanner.skip()?;
            return Ok(Member::NotArray);
        }
        let mut list = ItemList::default();
        let mut expected = expected.iter();
        scanner.array(|scanner| {
            scanner.peek();
            let start = scanner.position();
            let known = expected.next().and_then(|&item| {
                let end = self.conversation.raw_form(item)?.end_at(bytes, start)?;
                Some((item, end))
            });
            if let Some((item, end)) = known {
                scanner.jump(end);
                let bytes = &bytes[start..end];
                list.candidates.push(Candidate::Known { item, bytes });
                return Ok(());
            }
            let value = scanner.value()?;
            let bytes = &bytes[start..scanner.position()];
            let normaliser = Normaliser {
                schema: self.schema,
                from: self.payload,
            };
            match normaliser.item(&value) {
                Ok(None) => {}
                Ok(Some(item)) => list.candidates.push(Candidate::Read { item, bytes }),
                Err(fault) => list.faults.push(fault),
            }
            Ok::<_, SyntaxError>(())
        })?;
        Ok(Member::Items(list))
    }
}

impl Candidate<'_> {
    /// The id of an item that was read.
    pub(super) fn response_item_id(&self) -> Option<&ResponseItemId> {
        match self {
            Self::Known { .. } => None,
            Self::Read { item, .. } => item.response_item_id.as_ref(),
        }
    }

    pub(super) fn raw_form(&self) -> Option<RawForm> {
        match self {
            Self::Known { bytes, .. } | Self::Read { bytes, .. } => RawForm::of(bytes),
        }
    }
}

/// Walks the members of a payload that is an object; any other value has none.
fn members<'a>(
    bytes: &'a [u8],
    member: impl FnMut(&mut Scanner<'a>, Cow<'a, str>) -> Result<(), SyntaxError>,
) -> Result<(), SyntaxError> {
    let mut scanner = Scanner::new(bytes);
    if scanner.peek() == Some(b'{') {
        scanner.object(member)?;
    } else {
        scanner.skip()?;
    }
    scanner.end()
}

/// All counts that schema 1 has, or none.
fn usage(value: &Json<'_>, schema: Schema) -> Option<Usage> {
    let count = |key| {
        let count: i64 = value.get(key)?.as_integer()?;
        Some(u64::try_from(count).unwrap_or(0))
    };
    Some(Usage {
        input_tokens: count("input_tokens")?,
        cached_input_tokens: count("cached_input_tokens")?,
        cache_write_input_tokens: (schema == Schema::Two)
            .then(|| count("cache_write_input_tokens").unwrap_or(0)),
        output_tokens: count("output_tokens")?,
        reasoning_output_tokens: count("reasoning_output_tokens")?,
    })
}
