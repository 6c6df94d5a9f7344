//! The history of a request, stored as JSON in blocks.
//!
//! A history is sent with every request and only grows at its end. Clones share the blocks, adding an item copies at most
//! the last block, and a request body is a copy of bytes instead of a new serialization. Items are not stored otherwise;
//! the few callers that need one parse it.

use std::sync::Arc;

use codex_protocol::ResponseItem;
use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Limits on the items and bytes of a block.
const BLOCK_ITEMS: usize = 64;
const BLOCK_BYTES: usize = 64 << 10;

/// A history as it is sent to a model. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    blocks: Vec<Arc<PromptBlock>>,
    length: usize,
    /// The length of the JSON of all items, including a comma per item.
    bytes: usize,
}

#[derive(Clone, Debug, Default)]
struct PromptBlock {
    /// The JSON of the items, each preceded by a comma.
    json: String,
    /// The end of each item's JSON, and the id from the server, which most servers do not accept in requests.
    items: Vec<(usize, Option<Box<str>>)>,
}

impl PromptBlock {
    fn is_full(&self) -> bool {
        self.items.len() >= BLOCK_ITEMS || self.json.len() >= BLOCK_BYTES
    }

    fn truncate(&mut self, length: usize) {
        self.items.truncate(length);
        self.json
            .truncate(self.items.last().map_or(0, |item| item.0));
    }

    fn item(&self, index: usize) -> Option<PromptItem<'_>> {
        let (end, id) = self.items.get(index)?;
        let start = index
            .checked_sub(1)
            .map_or(0, |before| self.items[before].0);
        Some(PromptItem {
            json: &self.json[start + 1..*end],
            id: id.as_deref(),
        })
    }

    fn items(&self) -> impl Iterator<Item = PromptItem<'_>> {
        (0..self.items.len()).filter_map(|index| self.item(index))
    }
}

/// An item of a history.
#[derive(Clone, Copy, Debug)]
pub struct PromptItem<'a> {
    /// The JSON without the id, as most servers accept it.
    pub json: &'a str,
    /// The id from the server.
    pub id: Option<&'a str>,
}

impl PromptItem<'_> {
    /// Parses the item.
    #[must_use]
    pub fn read(self) -> ResponseItem {
        // Parsing cannot fail, because this program wrote the JSON.
        let unread = |_| ResponseItem::Other(Value::Null);
        let mut item: ResponseItem = serde_json::from_str(self.json).unwrap_or_else(unread);
        if let Some(id) = self.id {
            item.set_id(id);
        }
        item
    }
}

impl Prompt {
    /// Adds an item and returns its JSON. Returns none and adds nothing if serialization fails.
    pub fn push(&mut self, item: &ResponseItem) -> Option<String> {
        let json = serde_json::to_string(item).ok()?;
        self.add(PromptItem {
            json: &json,
            id: item.id(),
        });
        Some(json)
    }

    /// Adds an item of another history.
    pub fn add(&mut self, item: PromptItem<'_>) {
        if self.blocks.last().is_none_or(|block| block.is_full()) {
            self.blocks.push(Arc::default());
        }
        let Some(block) = self.blocks.last_mut() else {
            return;
        };
        let block = Arc::make_mut(block);
        block.json.push(',');
        block.json.push_str(item.json);
        let end = block.json.len();
        block.items.push((end, item.id.map(Box::from)));
        self.length += 1;
        self.bytes += item.json.len() + 1;
    }

    /// Keeps only the first `length` items.
    pub fn truncate(&mut self, length: usize) {
        while let Some(block) = self.blocks.last_mut().filter(|_| self.length > length) {
            self.bytes -= block.json.len();
            self.length -= block.items.len();
            if self.length >= length {
                self.blocks.pop();
                continue;
            }
            let block = Arc::make_mut(block);
            block.truncate(length - self.length);
            self.bytes += block.json.len();
            self.length = length;
        }
    }

    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub fn items(&self) -> impl Iterator<Item = PromptItem<'_>> {
        items(&self.blocks)
    }

    /// The item at an index.
    #[must_use]
    pub fn item(&self, index: usize) -> Option<PromptItem<'_>> {
        let mut left = index;
        for block in &self.blocks {
            if let Some(item) = block.item(left) {
                return Some(item);
            }
            left -= block.items.len();
        }
        None
    }

    /// The approximate length of the JSON in bytes.
    #[must_use]
    pub fn json_length(&self) -> usize {
        self.bytes + 2
    }

    /// Appends the items as a JSON array.
    pub fn write_json(&self, text: &mut Vec<u8>) {
        text.reserve(self.json_length());
        text.push(b'[');
        for (index, block) in self.blocks.iter().enumerate() {
            // The first item has no comma.
            text.extend_from_slice(&block.json.as_bytes()[usize::from(index == 0)..]);
        }
        text.push(b']');
    }

    /// Whether the history begins with the items of another one, apart from their ids.
    #[must_use]
    pub fn starts_with(&self, other: &Self) -> bool {
        other.length <= self.length && self.common_length(other) == other.length
    }

    /// The number of items with which both histories begin, apart from their ids.
    #[must_use]
    pub fn common_length(&self, other: &Self) -> usize {
        let pairs = self.blocks.iter().zip(&other.blocks);
        let shared = pairs.take_while(|(own, other)| Arc::ptr_eq(own, other));
        let shared = shared.map(|(own, _)| own.items.len());
        let (blocks, length) = shared.fold((0, 0), |(count, sum), items| (count + 1, sum + items));
        let own = items(&self.blocks[blocks..]);
        let other = items(&other.blocks[blocks..]);
        let equal = own
            .zip(other)
            .take_while(|(own, other)| own.json == other.json);
        length + equal.count()
    }
}

fn items(blocks: &[Arc<PromptBlock>]) -> impl Iterator<Item = PromptItem<'_>> {
    blocks.iter().flat_map(|block| block.items())
}

impl<'a> FromIterator<&'a ResponseItem> for Prompt {
    fn from_iter<I: IntoIterator<Item = &'a ResponseItem>>(items: I) -> Self {
        let mut prompt = Self::default();
        items.into_iter().for_each(|item| {
            prompt.push(item);
        });
        prompt
    }
}

impl<'a> FromIterator<PromptItem<'a>> for Prompt {
    fn from_iter<I: IntoIterator<Item = PromptItem<'a>>>(items: I) -> Self {
        let mut prompt = Self::default();
        items.into_iter().for_each(|item| prompt.add(item));
        prompt
    }
}

impl Serialize for Prompt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let items = self.items().map(|item| serde_json::from_str(item.json));
        let items: Result<Vec<&RawValue>, _> = items.collect();
        serializer.collect_seq(items.map_err(S::Error::custom)?)
    }
}

#[cfg(test)]
mod tests {
    use codex_protocol::ContentItem;

    use super::*;

    fn message(number: usize, length: usize) -> ResponseItem {
        let text = format!("{number}{}", "x".repeat(length));
        ResponseItem::Message {
            role: "user".to_owned(),
            content: vec![ContentItem::InputText { text }],
            end_turn: None,
            phase: None,
            id: number.is_multiple_of(2).then(|| format!("msg_{number}")),
        }
    }

    fn check(prompt: &Prompt, items: &[ResponseItem]) {
        let mut json = Vec::new();
        prompt.write_json(&mut json);
        assert_eq!(
            String::from_utf8(json).unwrap(),
            serde_json::to_string(items).unwrap()
        );
        let read: Vec<_> = prompt.items().map(PromptItem::read).collect();
        assert_eq!(read, items);
        let by_index = (0..items.len()).map_while(|index| prompt.item(index));
        assert_eq!(by_index.map(PromptItem::read).collect::<Vec<_>>(), items);
        assert!(prompt.item(items.len()).is_none());
        assert_eq!(prompt.len(), items.len());
        let commas: usize = prompt.items().map(|item| item.json.len() + 1).sum();
        assert_eq!(prompt.bytes, commas);
    }

    #[test]
    fn grown_history_starts_with_its_predecessor() {
        let items: Vec<_> = (0..200).map(|number| message(number, 5)).collect();
        let whole = Prompt::from_iter(&items);
        let mut part = Prompt::default();
        for item in &items {
            assert!(whole.starts_with(&part));
            part.push(item);
            assert!(part.starts_with(&part.clone()));
        }
        assert!(whole.starts_with(&part) && part.starts_with(&whole));
        part.push(&message(1, 1));
        assert!(part.starts_with(&whole) && !whole.starts_with(&part));
        let mut other = whole.clone();
        other.truncate(150);
        assert!(whole.starts_with(&other));
        other.push(&message(1, 1));
        assert!(!whole.starts_with(&other) && !other.starts_with(&whole));
        assert_eq!(whole.common_length(&other), 150);
        assert_eq!(other.common_length(&whole), 150);
        assert_eq!(whole.common_length(&Prompt::default()), 0);
    }

    #[test]
    fn prompt_json_is_independent_of_blocks() {
        let items: Vec<_> = (0..300)
            .map(|number| message(number, if number % 50 == 0 { BLOCK_BYTES } else { 5 }))
            .collect();
        let mut prompt = Prompt::default();
        check(&prompt, &[]);
        let mut earlier = Vec::new();
        for (number, item) in items.iter().enumerate() {
            earlier.push(prompt.clone());
            prompt.push(item);
            if number.is_multiple_of(13) {
                check(&prompt, &items[..=number]);
            }
        }
        for (length, shared) in earlier.iter().enumerate().rev().step_by(7) {
            check(shared, &items[..length]);
            prompt.truncate(length);
            check(&prompt, &items[..length]);
        }
        prompt.truncate(9);
        check(&prompt, &items[..9.min(prompt.len())]);
    }
}
