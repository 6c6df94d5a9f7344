//! What a request began with, to recognise it in the next one.

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::ids::ItemId;

/// The items that a request began with and the bytes that they had there, to recognise them in the next one.
#[derive(Default)]
pub(super) struct SentItems {
    pub(super) items: Vec<ItemId>,
    pub(super) size: usize,
    hash: Xxh3,
}

impl SentItems {
    /// Whether a list begins with these items, and they are expected there.
    ///
    /// The bytes end with a whole JSON object, and no object is the beginning of another.
    pub(super) fn are_at(&self, start: usize, bytes: &[u8], expected: &[ItemId]) -> bool {
        let bytes = bytes.get(start..start + self.size);
        self.size > 0
            && expected.starts_with(&self.items)
            && bytes.is_some_and(|bytes| xxh3_128(bytes) == self.hash.digest128())
    }

    /// Takes what a list that begins with these items, or with none of them, goes on with.
    pub(super) fn extend(mut self, start: &ListStart, items: &[ItemId], bytes: &[u8]) -> Self {
        if start.repeated == 0 {
            self = Self::default();
        }
        self.hash.update(&bytes[start.at + self.size..start.end]);
        self.size = start.end - start.at;
        self.items
            .extend_from_slice(&items[self.items.len()..start.items]);
        self
    }
}

/// The beginning of a list, up to the first item that cannot be recognised by its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ListStart {
    pub(super) at: usize,
    pub(super) end: usize,
    /// So many items were recognised in this list already.
    pub(super) repeated: usize,
    pub(super) items: usize,
}
