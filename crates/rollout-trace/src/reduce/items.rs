//! The item lists of a payload, read element by element.
//!
//! Most items of a request were in the request before, in the same place and in the same bytes. They are recognised by
//! one hash of all of them and passed over. Elsewhere an item that has the bytes of a known one is recognised by its own
//! hash. Only what is new is read.

use std::borrow::Cow;
use std::ops::Range;

use super::conversation::Conversation;
use super::fault::Fault;
use super::normalise::{Normalised, Normaliser};
use super::sent::SentItems;
use crate::format::Schema;
use crate::ids::{ItemId, PayloadId, ResponseItemId};
use crate::json::{Json, Scanner, SyntaxError};
use crate::model::Usage;
use crate::payload_files::PayloadBytes;

/// An item of a list, before it is placed in the conversation.
pub(super) struct Candidate {
    /// Its bytes in the payload.
    pub(super) at: Range<usize>,
    pub(super) item: CandidateItem,
}

pub(super) enum CandidateItem {
    /// Its bytes are those of an item that is already there.
    Known(ItemId),
    Read(Normalised),
}

/// The items that could be read, and what was wrong with the others.
pub(super) struct ItemList<'a> {
    pub(super) payload: &'a PayloadBytes<'a>,
    /// Where the first element begins, or blanks before it.
    pub(super) start: usize,
    /// So many of the expected items it begins with, and where they end.
    pub(super) repeated: usize,
    pub(super) repeated_end: usize,
    /// What follows them.
    pub(super) candidates: Vec<Candidate>,
    pub(super) faults: Vec<Fault>,
    /// So many of the candidates come before the first fault.
    pub(super) before_fault: usize,
}

/// The items that a list is likely to begin with.
#[derive(Clone, Copy)]
pub(super) struct Expected<'e> {
    pub(super) items: &'e [ItemId],
    /// What was sent last.
    pub(super) sent: Option<&'e SentItems>,
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

impl RequestBody<'_> {
    /// Whether it names only what is new, and that looks like what was sent before.
    pub(super) fn resembles_prefix(&self) -> bool {
        let repeats = matches!(&self.input, Member::Items(list) if list.repeated > 0);
        repeats && self.previous_response_id.is_some()
    }
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
    pub(super) id: &'r PayloadId,
    pub(super) schema: Schema,
}

impl ListReader<'_> {
    pub(super) fn request<'a>(
        &self,
        payload: &'a PayloadBytes<'a>,
        expected: Expected<'_>,
    ) -> Result<RequestBody<'a>, SyntaxError> {
        let mut body = RequestBody {
            input: Member::Missing,
            previous_response_id: None,
        };
        members(payload, |scanner, key| {
            match key.as_ref() {
                "input" => body.input = self.list(payload, scanner, expected)?,
                "previous_response_id" => {
                    body.previous_response_id = scanner.value()?.as_str().map(str::to_owned);
                }
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        Ok(body)
    }

    pub(super) fn response<'a>(
        &self,
        payload: &'a PayloadBytes<'a>,
    ) -> Result<ResponseBody<'a>, SyntaxError> {
        let mut body = ResponseBody {
            output: Member::Missing,
            usage: None,
        };
        members(payload, |scanner, key| {
            match key.as_ref() {
                "output_items" => body.output = self.list(payload, scanner, Expected::none())?,
                "token_usage" => body.usage = usage(&scanner.value()?, self.schema),
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        Ok(body)
    }

    pub(super) fn checkpoint<'a>(
        &self,
        payload: &'a PayloadBytes<'a>,
        expected: &[ItemId],
    ) -> Result<CheckpointBody<'a>, SyntaxError> {
        let input = Expected {
            items: expected,
            sent: None,
        };
        let mut body = CheckpointBody {
            input: Member::Missing,
            replacement: Member::Missing,
        };
        members(payload, |scanner, key| {
            match key.as_ref() {
                "input_history" => body.input = self.list(payload, scanner, input)?,
                "replacement_history" => {
                    body.replacement = self.list(payload, scanner, Expected::none())?;
                }
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        Ok(body)
    }

    fn list<'a>(
        &self,
        payload: &'a PayloadBytes<'a>,
        scanner: &mut Scanner<'a>,
        expected: Expected<'_>,
    ) -> Result<Member<'a>, SyntaxError> {
        if scanner.peek() != Some(b'[') {
            scanner.skip()?;
            return Ok(Member::NotArray);
        }
        let mut list = ItemList::beginning(payload, scanner.position() + 1);
        let mut next = expected.items.iter();
        let sent = expected
            .sent
            .filter(|sent| sent.are_at(list.start, payload.bytes, expected.items));
        if let Some(sent) = sent {
            list.repeated = sent.items.len();
            list.repeated_end = list.start + sent.size;
            next = expected.items[list.repeated..].iter();
        }
        scanner.array(|scanner| {
            if scanner.position() < list.repeated_end {
                scanner.jump(list.repeated_end);
                return Ok(());
            }
            scanner.peek();
            let start = scanner.position();
            let known = next.next().and_then(|&item| {
                let form = self.conversation.raw_form(item)?;
                Some((item, form.end_at(payload.bytes, start)?))
            });
            if let Some((item, end)) = known {
                scanner.jump(end);
                list.add(start..end, CandidateItem::Known(item));
                return Ok(());
            }
            let value = scanner.value()?;
            let normaliser = Normaliser {
                schema: self.schema,
                from: self.id,
            };
            match normaliser.item(&value) {
                Ok(None) => {}
                Ok(Some(item)) => {
                    list.add(start..scanner.position(), CandidateItem::Read(item));
                }
                Err(fault) => list.faults.push(fault),
            }
            Ok::<_, SyntaxError>(())
        })?;
        Ok(Member::Items(list))
    }
}

impl<'a> ItemList<'a> {
    fn beginning(payload: &'a PayloadBytes<'a>, start: usize) -> Self {
        Self {
            payload,
            start,
            repeated: 0,
            repeated_end: start,
            candidates: Vec::new(),
            faults: Vec::new(),
            before_fault: 0,
        }
    }

    fn add(&mut self, at: Range<usize>, item: CandidateItem) {
        self.candidates.push(Candidate { at, item });
        if self.faults.is_empty() {
            self.before_fault = self.candidates.len();
        }
    }
}

impl Expected<'_> {
    fn none() -> Self {
        Self {
            items: &[],
            sent: None,
        }
    }
}

impl Candidate {
    /// The id of an item that was read.
    pub(super) fn response_item_id(&self) -> Option<&ResponseItemId> {
        match &self.item {
            CandidateItem::Known(_) => None,
            CandidateItem::Read(item) => item.response_item_id.as_ref(),
        }
    }
}

/// Walks the members of a payload that is an object; any other value has none.
fn members<'a>(
    payload: &'a PayloadBytes<'a>,
    member: impl FnMut(&mut Scanner<'a>, Cow<'a, str>) -> Result<(), SyntaxError>,
) -> Result<(), SyntaxError> {
    let mut scanner = Scanner::in_payload(payload, 0);
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
        cache_write_input_tokens: (schema.has_ids())
            .then(|| count("cache_write_input_tokens").unwrap_or(0)),
        output_tokens: count("output_tokens")?,
        reasoning_output_tokens: count("reasoning_output_tokens")?,
    })
}
