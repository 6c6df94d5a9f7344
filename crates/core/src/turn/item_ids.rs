//! The ids of the items that a model writes in a turn.
//!
//! Clients know an item by its id, so no two items of a turn have the same one, whatever ids the model gives.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// The ids that the items of a turn have. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurnItemIds(Arc<Mutex<HashSet<String>>>);

impl TurnItemIds {
    /// The id for an item: that of the model, or a fresh one if there is none or another item has it.
    pub(super) fn assign(&self, given: Option<&str>, fresh: impl FnOnce() -> String) -> String {
        let id = match given {
            Some(given) if !self.0.lock().contains(given) => given.to_owned(),
            _ => fresh(),
        };
        self.0.lock().insert(id.clone());
        id
    }

    /// The id for a call: that of the model, with a number if another item has it. Approvals, outputs and items of clients
    /// refer to it. A recorded turn that runs again gets the same ids.
    pub(super) fn assign_to_call(&self, given: &str) -> String {
        let mut ids = self.0.lock();
        let mut id = given.to_owned();
        let mut number = 2;
        while !ids.insert(id.clone()) {
            id = format!("{given}-{number}");
            number += 1;
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_the_model_repeats_is_replaced() {
        let ids = TurnItemIds::default();
        let assign = |given| ids.assign(given, || "fresh".to_owned());
        assert_eq!(assign(Some("msg")), "msg");
        assert_eq!(assign(Some("msg")), "fresh");
        assert_eq!(assign(None), "fresh");
        let calls =
            ["msg", "call", "call", "call-2", "call"].map(|given| ids.assign_to_call(given));
        assert_eq!(calls, ["msg-2", "call", "call-2", "call-2-2", "call-3"]);
    }
}
