//! A turn in the making, and what it has to do with reviews and with concessions to clients.

use std::collections::HashSet;

use bytes::{BufMut, Bytes, BytesMut};
use codex_app_server_protocol::v2::{
    ThreadItem, TimedItem, Turn, TurnError, TurnItemsView, TurnStatus,
};

use crate::gap::Gap;
use crate::projection::item;

/// A turn in the making.
#[derive(Debug)]
pub(crate) struct FoldedTurn {
    pub(super) id: String,
    /// First turn of the work that it belongs to, if that is another one.
    pub(super) root: Option<String>,
    pub(super) status: TurnStatus,
    pub(super) error: Option<TurnError>,
    pub(super) completed: Vec<TimedItem>,
    /// The items that have ended, in place of `completed`.
    packed: Option<Packed>,
    pub(super) running: Vec<TimedItem>,
    pub(super) ids: HashSet<String>,
    pub(super) is_open: bool,
    /// An event said that it starts.
    pub(super) is_explicit: bool,
    /// It has item events, so that the older events only repeat them.
    pub(super) has_item_events: bool,
    pub(super) has_compaction: bool,
    /// When the event came that started it, in milliseconds.
    pub(super) begun: Option<i64>,
    pub(super) started_at: Option<i64>,
    pub(super) completed_at: Option<i64>,
    pub(super) duration_ms: Option<i64>,
    pub(super) concessions: Concessions,
    pub(super) review: ReviewState,
}

/// Items as JSON.
#[derive(Debug)]
struct Packed {
    json: Bytes,
    /// How many of them have a number for an id.
    numbered: usize,
}

impl FoldedTurn {
    pub(super) fn new(id: String, is_explicit: bool) -> Self {
        Self {
            id,
            root: None,
            status: if is_explicit {
                TurnStatus::InProgress
            } else {
                TurnStatus::Completed
            },
            error: None,
            completed: Vec::new(),
            packed: None,
            running: Vec::new(),
            ids: HashSet::new(),
            is_open: true,
            is_explicit,
            has_item_events: false,
            has_compaction: false,
            begun: None,
            started_at: None,
            completed_at: None,
            duration_ms: None,
            concessions: Concessions::default(),
            review: ReviewState::None,
        }
    }

    /// How many of its items have a number for an id.
    pub(super) fn numbered(&self) -> usize {
        match &self.packed {
            Some(packed) => packed.numbered,
            None => {
                let is_number = |item: &&TimedItem| item::id_of(item).starts_with("item-");
                self.completed.iter().filter(is_number).count()
            }
        }
    }

    /// Turns its items into JSON. Without effect if that fails.
    pub(super) fn pack(&mut self) {
        if self.packed.is_none()
            && let Ok(json) = serde_json::to_vec(&self.completed)
        {
            self.packed = Some(Packed {
                json: json.into_boxed_slice().into(),
                numbered: self.numbered(),
            });
            (self.completed, self.ids) = (Vec::new(), HashSet::new());
        }
    }

    /// Makes items of the JSON again, to change them.
    pub(super) fn unpack(&mut self) {
        let Some(packed) = self.packed.take() else {
            return;
        };
        // It was written by this program a moment ago.
        self.completed = serde_json::from_slice(&packed.json).unwrap_or_default();
        let ids = self.completed.iter().map(|item| item::id_of(item));
        self.ids = ids.map(str::to_owned).collect();
    }

    pub(super) fn to_turn(&self) -> Turn {
        let items = self.completed.iter().chain(&self.running);
        self.with_items(items.cloned().collect(), TurnItemsView::Full)
    }

    pub(super) fn with_items(&self, items: Vec<TimedItem>, view: TurnItemsView) -> Turn {
        Turn {
            id: self.id.clone(),
            root_turn_id: Some(self.root.clone().unwrap_or_else(|| self.id.clone())),
            items,
            status: self.status,
            error: self.error.clone(),
            started_at: self.started_at,
            completed_at: self.completed_at,
            duration_ms: self.duration_ms,
            items_view: Some(view),
        }
    }

    /// Adds its JSON to `parts` and to what stands between them.
    pub(super) fn write(
        &self,
        parts: &mut Vec<Bytes>,
        between: &mut BytesMut,
    ) -> serde_json::Result<()> {
        let Some(packed) = &self.packed else {
            return serde_json::to_writer(between.writer(), &self.to_turn());
        };
        let bare = serde_json::to_vec(&self.with_items(Vec::new(), TurnItemsView::Full))?;
        if let Some((before, after)) = Gap::List("items").find(&bare) {
            between.extend_from_slice(before);
            parts.extend([between.split().freeze(), packed.json.clone()]);
            between.extend_from_slice(after);
        }
        Ok(())
    }
}

/// What a turn needs to know for the concessions to clients.
#[derive(Debug, Default)]
pub(super) struct Concessions {
    /// The items that a client was asked about.
    pub(super) asked: HashSet<String>,
    /// Those of them whose answer was an error.
    pub(super) refused_with_error: HashSet<String>,
    /// What was unfinished when a client wanted the turn to stop.
    pub(super) cut: HashSet<String>,
    /// What of it has ended since then; the end of the turn decides whether that counts.
    pub(super) held: Vec<TimedItem>,
}

impl Concessions {
    /// Whether people were asked about the item and it did not go on since.
    pub(super) fn waits_for_people(&self, item: &ThreadItem) -> bool {
        self.asked.contains(item::id_of(item))
    }

    /// Keeps back the end of what was unfinished when the turn was to stop.
    pub(super) fn hold(&mut self, item: &TimedItem) -> bool {
        let timeout_pauses = self.cut.contains(item::id_of(item));
        if timeout_pauses {
            self.held.push(item.clone());
        }
        timeout_pauses
    }
}

/// What a turn has to do with reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewState {
    /// Nothing.
    None,
    /// It is one, and the reviewer is at work.
    Runs,
    /// It is one, and the result is there.
    Over,
}
