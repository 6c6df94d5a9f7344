//! Which items of a list are the ones that are there already.

use std::collections::HashMap;

use super::conversation::Conversation;
use super::identity::ItemKey;
use crate::format::Schema;
use crate::ids::{ItemId, ResponseItemId};

/// How a list is matched with the items that are there.
pub(super) enum Matching<'l> {
    /// Matches a whole prompt with the one before: the same position first, then any.
    Snapshot(&'l [ItemId]),
    /// Nothing: every item is new.
    Nothing,
    /// What follows a known prefix.
    Append { from: usize, snapshot: &'l [ItemId] },
    /// Anywhere among these.
    Detached(&'l [ItemId]),
}

/// An item inside a known prefix is not what the prefix has there.
pub(super) struct PrefixMismatch;

/// Matches the candidates of one list, in order.
pub(super) struct Matcher<'l> {
    matching: Matching<'l>,
    position: usize,
    in_step: bool,
    index: Option<Index>,
}

impl<'l> Matcher<'l> {
    pub(super) fn new(matching: Matching<'l>) -> Self {
        Self {
            matching,
            position: 0,
            in_step: true,
            index: None,
        }
    }

    /// Passes over the items that the list begins with.
    pub(super) fn repeat(&mut self, count: usize) -> &'l [ItemId] {
        self.position += count;
        match self.matching {
            Matching::Snapshot(snapshot) => &snapshot[..count],
            _ => &[],
        }
    }

    /// Passes over a position without looking for its item.
    pub(super) fn pass(&mut self) {
        self.position += 1;
        self.in_step = false;
    }

    /// Whether an item can be the repetition of an earlier one.
    pub(super) fn reuses(&self) -> bool {
        match self.matching {
            Matching::Snapshot(_) => true,
            Matching::Append { .. } | Matching::Nothing => false,
            Matching::Detached(candidates) => !candidates.is_empty(),
        }
    }

    /// The item that the next candidate is, if it is not a new one.
    pub(super) fn next(
        &mut self,
        key: ItemKey,
        id: Option<&ResponseItemId>,
        conversation: &Conversation,
    ) -> Result<Option<ItemId>, PrefixMismatch> {
        let position = self.position;
        self.position += 1;
        // In schema 2 an item stands at one position of a list only.
        let is_free =
            |item: ItemId| conversation.schema == Schema::One || !conversation.is_used(item);
        let same = |item: &ItemId| {
            conversation.key(*item) == key && conversation.agrees(*item, id) && is_free(*item)
        };
        match self.matching {
            Matching::Append { from, snapshot } => match snapshot.get(from + position) {
                None => Ok(None),
                Some(item) if same(item) => Ok(Some(*item)),
                Some(_) => Err(PrefixMismatch),
            },
            Matching::Snapshot(snapshot) => {
                if let Some(item) = snapshot.get(position).filter(|item| same(item)) {
                    return Ok(Some(*item));
                }
                // Past the end of a prompt that was repeated whole, everything is new.
                self.in_step &= position >= snapshot.len();
                if self.in_step {
                    return Ok(None);
                }
                Ok(self.search(snapshot, key, id, conversation))
            }
            Matching::Detached(candidates) => Ok(self.search(candidates, key, id, conversation)),
            Matching::Nothing => Ok(None),
        }
    }

    /// The first of `items` with this key that the list has not used.
    fn search(
        &mut self,
        items: &[ItemId],
        key: ItemKey,
        id: Option<&ResponseItemId>,
        conversation: &Conversation,
    ) -> Option<ItemId> {
        self.index
            .get_or_insert_with(|| Index::build(items, conversation))
            .first_unused(items, key, id, conversation)
    }
}

/// Places of a list by key. Used places are passed once, so a whole list takes time in its length.
struct Index {
    heads: HashMap<ItemKey, usize>,
    next: Vec<usize>,
}

impl Index {
    fn build(items: &[ItemId], conversation: &Conversation) -> Self {
        let mut index = Self {
            heads: HashMap::with_capacity(items.len()),
            next: vec![usize::MAX; items.len()],
        };
        for (place, &item) in items.iter().enumerate().rev() {
            if let Some(later) = index.heads.insert(conversation.key(item), place) {
                index.next[place] = later;
            }
        }
        index
    }

    fn first_unused(
        &mut self,
        items: &[ItemId],
        key: ItemKey,
        id: Option<&ResponseItemId>,
        conversation: &Conversation,
    ) -> Option<ItemId> {
        let head = self.heads.get_mut(&key)?;
        while let Some(&item) = items.get(*head) {
            if !conversation.is_used(item) {
                break;
            }
            *head = self.next[*head];
        }
        // Beyond it are items that may be another candidate's, by their ids.
        let mut place = *head;
        while let Some(&item) = items.get(place) {
            if !conversation.is_used(item) && conversation.agrees(item, id) {
                return Some(item);
            }
            place = self.next[place];
        }
        None
    }
}
