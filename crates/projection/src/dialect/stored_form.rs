//! The form of turns that are read from files. It is part of what is kept of them, so it is a value of its own.

use codex_app_server_protocol::v2::{ThreadItem, TurnError};
use serde::{Deserialize, Serialize};

use super::rows::Dialect;
use super::steps::error_causes::KnownCauses;
use super::steps::newer_items::KnownItems;
use super::steps::read_paths;
use crate::{ItemIds, TurnForm};

/// What of a dialect decides how stored turns are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredForm {
    pub ids: ItemIds,
    has_absolute_reads: bool,
    items: KnownItems,
    causes: KnownCauses,
}

impl Dialect {
    pub fn stored_form(self) -> StoredForm {
        StoredForm {
            ids: self.item_ids(),
            has_absolute_reads: self.has_absolute_reads(),
            items: KnownItems::for_dialect(self),
            causes: KnownCauses::for_dialect(self),
        }
    }
}

impl StoredForm {
    pub const NEWEST: Self = Self {
        ids: ItemIds::Streamed,
        has_absolute_reads: true,
        items: KnownItems::ALL,
        causes: KnownCauses::ALL,
    };

    /// The same with items that are identified in another way.
    pub fn with_ids(self, ids: ItemIds) -> Self {
        Self { ids, ..self }
    }
}

impl TurnForm for StoredForm {
    fn older_item(&self, thread: &str, item: &ThreadItem) -> Option<ThreadItem> {
        let known = self.items.older(item, thread);
        let shortened = read_paths::shortened(item).filter(|_| !self.has_absolute_reads);
        // They are about different items.
        known.or(shortened)
    }

    fn older_error(&self, error: &TurnError) -> Option<TurnError> {
        self.causes.older(error)
    }
}
