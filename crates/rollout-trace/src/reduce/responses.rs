//! Which inference has which response.

use std::collections::{BTreeSet, HashMap};

use super::conversation::ThreadNumber;
use crate::ids::{InferenceId, ItemId, ResponseId};

/// Which inference has which response.
#[derive(Default)]
pub(super) struct Responses {
    /// By the provider's id; the lowest call counts.
    by_id: HashMap<(ThreadNumber, ResponseId), BTreeSet<InferenceId>>,
    /// By the call items that came in it.
    pub(super) by_item: HashMap<ItemId, BTreeSet<InferenceId>>,
}

impl Responses {
    pub(super) fn of_item(&self, item: ItemId) -> impl Iterator<Item = &InferenceId> {
        self.by_item.get(&item).into_iter().flatten()
    }

    pub(super) fn of_id(&self, thread: ThreadNumber, id: &ResponseId) -> Option<&InferenceId> {
        self.by_id.get(&(thread, id.clone()))?.first()
    }

    pub(super) fn rename(
        &mut self,
        thread: ThreadNumber,
        call: &InferenceId,
        old: Option<ResponseId>,
        new: Option<ResponseId>,
    ) {
        if let Some(old) = old
            && let Some(calls) = self.by_id.get_mut(&(thread, old))
        {
            calls.remove(call);
        }
        if let Some(new) = new {
            let calls = self.by_id.entry((thread, new)).or_default();
            calls.insert(call.clone());
        }
    }
}
