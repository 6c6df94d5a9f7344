//! A turn under construction.

use std::collections::HashSet;

use bytes::{BufMut, Bytes, BytesMut};
use codex_app_server_protocol::v2::{
    ThreadItem, TimedItem, Turn, TurnError, TurnItemsView, TurnStatus,
};

use super::consumer::ItemEnd;
use crate::gap::Gap;
use crate::item;

/// A turn under construction.
#[derive(Debug)]
pub struct FoldedTurn {
    pub(super) id: String,
    /// The root turn of its work, if that is another turn.
    pub(super) root: Option<String>,
    pub(super) status: TurnStatus,
    pub(super) error: Option<TurnError>,
    pub(super) completed: Vec<TimedItem>,
    /// The completed items as JSON, instead of `completed`.
    packed: Option<Packed>,
    pub(super) running: Vec<TimedItem>,
    pub(super) ids: HashSet<String>,
    pub(super) is_open: bool,
    /// Whether it started with an explicit event.
    pub(super) is_explicit: bool,
    /// Whether it has item events, which the older events repeat.
    pub(super) has_item_events: bool,
    pub(super) has_compaction: bool,
    /// The time of the event that started it, in milliseconds.
    pub(super) begun: Option<i64>,
    pub(super) started_at: Option<i64>,
    pub(super) completed_at: Option<i64>,
    pub(super) duration_ms: Option<i64>,
    /// The items that clients were asked about.
    pub(super) asked: HashSet<String>,
    interrupted: InterruptedItems,
    pub(super) review: ReviewState,
}

/// Items as JSON.
#[derive(Debug)]
struct Packed {
    json: Bytes,
    /// The number of numbered items among them.
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
            asked: HashSet::new(),
            interrupted: InterruptedItems::default(),
            review: ReviewState::None,
        }
    }

    /// The number of numbered items.
    pub(super) fn numbered(&self) -> usize {
        match &self.packed {
            Some(packed) => packed.numbered,
            None => {
                let is_number = |item: &&TimedItem| item::id_of(item).starts_with("item-");
                self.completed.iter().filter(is_number).count()
            }
        }
    }

    /// Converts its items to JSON. Does nothing if that fails.
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

    /// Converts the JSON back to items, to change them.
    pub(super) fn unpack(&mut self) {
        let Some(packed) = self.packed.take() else {
            return;
        };
        // This program has written the JSON itself, so reading it does not fail.
        self.completed = serde_json::from_slice(&packed.json).unwrap_or_default();
        let ids = self.completed.iter().map(|item| item::id_of(item));
        self.ids = ids.map(str::to_owned).collect();
    }

    /// Whether its program ended before a response of the model did: a response that ends has called tools, or ends the
    /// turn.
    pub(super) fn is_cut_early(&self) -> bool {
        let is_cut = self.status == TurnStatus::Interrupted && self.completed_at.is_none();
        let is_text = |item: &TimedItem| {
            matches!(
                item.item,
                ThreadItem::UserMessage { .. }
                    | ThreadItem::HookPrompt { .. }
                    | ThreadItem::AgentMessage { .. }
                    | ThreadItem::Reasoning { .. }
                    | ThreadItem::Plan { .. }
            )
        };
        is_cut
            && match &self.packed {
                Some(packed) => serde_json::from_slice(&packed.json)
                    .is_ok_and(|items: Vec<TimedItem>| items.iter().all(is_text)),
                None => self.completed.iter().all(is_text),
            }
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

    /// Appends its JSON to `parts` and `between`.
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

/// The items that were unfinished when a client interrupted their turn.
#[derive(Debug, Default)]
struct InterruptedItems {
    ids: HashSet<String>,
    /// Those that have ended since.
    ended: Vec<TimedItem>,
}

impl FoldedTurn {
    /// A client interrupts the turn.
    pub(super) fn interrupt(&mut self) {
        let unfinished = self.running.iter().filter(|item| item::takes_time(item));
        let ids = unfinished.map(|item| item::id_of(item).to_owned());
        self.interrupted.ids.extend(ids);
    }

    /// Takes the items that have ended since the interrupt. Called at the end of the turn.
    pub(super) fn take_interrupted(&mut self) -> Vec<TimedItem> {
        std::mem::take(&mut self.interrupted).ended
    }

    /// How an item ends that is complete.
    pub(super) fn end_of(&mut self, ended: &TimedItem) -> ItemEnd {
        let id = item::id_of(ended);
        if self.interrupted.ids.contains(id) {
            self.interrupted.ended.push(ended.clone());
            ItemEnd::ByInterrupt
        } else if self.asked.contains(id) && item::is_declined_with_text(ended) {
            ItemEnd::DeclinedByClient
        } else {
            ItemEnd::Usual
        }
    }
}

/// The state of a turn with regard to reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewState {
    /// Not a review.
    None,
    /// A review that runs.
    Runs,
    /// A review with a result.
    Over,
}
