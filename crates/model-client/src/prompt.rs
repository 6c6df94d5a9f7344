//! The conversation of a request: its items, and their JSON in few pieces.
//!
//! A conversation is sent again with every request and only grows at its end. So its items lie in blocks, each with the
//! JSON of all of them in one piece: a clone shares the blocks, an addition copies at most the last one, and the body
//! of a request is a copy of bytes instead of a walk through the history.

use std::sync::Arc;

use codex_protocol::ResponseItem;
use serde::{Serialize, Serializer};

/// A block takes no more items when it has so many, or so many bytes.
const BLOCK_ITEMS: usize = 64;
const BLOCK_BYTES: usize = 64 << 10;

/// A conversation as a model is sent it. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    blocks: Vec<Arc<Block>>,
    length: usize,
    /// Of the JSON of all items, with a comma for each.
    bytes: usize,
}

#[derive(Clone, Debug, Default)]
struct Block {
    items: Vec<Arc<ResponseItem>>,
    /// The JSON of the items, with a comma before each.
    json: String,
    /// Where the JSON of each item ends.
    ends: Vec<usize>,
}

impl Block {
    fn is_full(&self) -> bool {
        self.items.len() >= BLOCK_ITEMS || self.json.len() >= BLOCK_BYTES
    }

    fn truncate(&mut self, length: usize) {
        self.items.truncate(length);
        self.ends.truncate(length);
        self.json.truncate(self.ends.last().copied().unwrap_or(0));
    }
}

impl Prompt {
    /// Adds an item and answers its JSON. None, and nothing is added, for one that has no JSON.
    pub fn push(&mut self, item: Arc<ResponseItem>) -> Option<String> {
        let json = serde_json::to_string(&*item).ok()?;
        if self.blocks.last().is_none_or(|block| block.is_full()) {
            self.blocks.push(Arc::default());
        }
        let block = Arc::make_mut(self.blocks.last_mut()?);
        block.json.push(',');
        block.json.push_str(&json);
        block.ends.push(block.json.len());
        block.items.push(item);
        self.length += 1;
        self.bytes += json.len() + 1;
        Some(json)
    }

    /// Keeps the first so many items.
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

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The items in order.
    pub fn items(&self) -> impl Iterator<Item = &Arc<ResponseItem>> + Clone {
        self.blocks.iter().flat_map(|block| &block.items)
    }

    /// About how many bytes the JSON has.
    #[must_use]
    pub fn json_length(&self) -> usize {
        self.bytes + 2
    }

    /// Appends the JSON array of the items.
    pub fn write_json(&self, text: &mut Vec<u8>) {
        text.reserve(self.json_length());
        text.push(b'[');
        for (index, block) in self.blocks.iter().enumerate() {
            // The first item has no comma.
            text.extend_from_slice(&block.json.as_bytes()[usize::from(index == 0)..]);
        }
        text.push(b']');
    }
}

impl FromIterator<Arc<ResponseItem>> for Prompt {
    fn from_iter<I: IntoIterator<Item = Arc<ResponseItem>>>(items: I) -> Self {
        let mut prompt = Self::default();
        items.into_iter().for_each(|item| {
            prompt.push(item);
        });
        prompt
    }
}

impl FromIterator<ResponseItem> for Prompt {
    fn from_iter<I: IntoIterator<Item = ResponseItem>>(items: I) -> Self {
        items.into_iter().map(Arc::new).collect()
    }
}

impl Serialize for Prompt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items().map(|item| &**item))
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
            id: None,
        }
    }

    fn check(prompt: &Prompt, items: &[ResponseItem]) {
        let mut json = Vec::new();
        prompt.write_json(&mut json);
        assert_eq!(
            String::from_utf8(json).unwrap(),
            serde_json::to_string(items).unwrap()
        );
        assert!(prompt.items().map(|item| &**item).eq(items));
        assert_eq!(prompt.len(), items.len());
        let commas: usize = items
            .iter()
            .map(|item| serde_json::to_string(item).unwrap().len() + 1)
            .sum();
        assert_eq!(prompt.bytes, commas);
    }

    #[test]
    fn its_json_is_that_of_the_items_whatever_the_blocks() {
        let items: Vec<_> = (0..300)
            .map(|number| message(number, if number % 50 == 0 { BLOCK_BYTES } else { 5 }))
            .collect();
        let mut prompt = Prompt::default();
        check(&prompt, &[]);
        let mut earlier = Vec::new();
        for (number, item) in items.iter().enumerate() {
            earlier.push(prompt.clone());
            prompt.push(Arc::new(item.clone()));
            check(&prompt, &items[..=number]);
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
