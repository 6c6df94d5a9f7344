//! A turn in the making, and the turns of a stored thread.
//!
//! A long thread is shown as JSON and nothing else. Where it is read as a whole, the items of a turn are
//! written as JSON as soon as the next turn begins; a later line rarely adds to them.

use std::collections::HashSet;

use bytes::{BufMut, Bytes, BytesMut};
use codex_app_server_protocol::v2::{TimedItem, Turn, TurnError, TurnItemsView, TurnStatus};

use super::concessions::Concessions;
use super::consumer::Consumer;
use super::review::Review;
use crate::gap::{Gap, Template};
use crate::message::Message;
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
    pub(super) review: Review,
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
            review: Review::None,
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
    fn write(&self, parts: &mut Vec<Bytes>, between: &mut BytesMut) -> serde_json::Result<()> {
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

/// Packs each turn when the next one begins: for readers who show a whole thread.
#[derive(Debug)]
pub(crate) struct PackTurns;

impl Consumer for PackTurns {
    fn turn_left(&mut self, turn: &mut FoldedTurn) {
        if !turn.is_open {
            turn.pack();
        }
    }
}

/// The turns of a stored thread, all of it taken.
#[derive(Debug)]
pub(crate) struct Turns(Vec<FoldedTurn>);

impl Turns {
    /// A turn that was cut off is interrupted.
    pub(super) fn new(mut turns: Vec<FoldedTurn>) -> Self {
        for turn in &mut turns {
            turn.completed.append(&mut turn.running);
            if turn.status == TurnStatus::InProgress {
                turn.status = TurnStatus::Interrupted;
            }
        }
        Self(turns)
    }

    /// The same, with a turn that runs now and has unfinished items.
    pub(crate) fn with_running(mut self, running: Option<Turn>) -> Self {
        let Some(running) = running else {
            return self;
        };
        match self.0.iter_mut().find(|turn| turn.id == running.id) {
            Some(turn) => {
                turn.unpack();
                turn.status = running.status;
                turn.completed.extend(running.items);
            }
            None => self.0.push(FoldedTurn {
                status: running.status,
                error: running.error,
                completed: running.items,
                started_at: running.started_at,
                ..FoldedTurn::new(running.id, true)
            }),
        }
        self
    }

    /// The id of the newest turn.
    pub(crate) fn newest(&self) -> Option<&str> {
        self.0.last().map(|turn| turn.id.as_str())
    }

    pub(crate) fn into_vec(self) -> Vec<Turn> {
        let turn = |mut turn: FoldedTurn| {
            turn.unpack();
            let items = std::mem::take(&mut turn.completed);
            turn.with_items(items, TurnItemsView::Full)
        };
        self.0.into_iter().map(turn).collect()
    }

    /// A message that has no turns yet, with these.
    pub(crate) fn put_into(&self, message: Bytes) -> Message {
        let Some(template) = Template::new(&message, Gap::List("turns")) else {
            tracing::error!("a message has no place for turns");
            return message.into();
        };
        match self.write(template) {
            Ok(parts) => parts.into(),
            Err(error) => {
                tracing::error!(%error, "turns could not be written");
                message.into()
            }
        }
    }

    /// Writes them as a JSON array.
    fn write(&self, around: Template) -> serde_json::Result<Vec<Bytes>> {
        let mut parts = vec![around.before];
        let mut between = BytesMut::new();
        between.put_u8(b'[');
        for (position, turn) in self.0.iter().enumerate() {
            if position > 0 {
                between.put_u8(b',');
            }
            turn.write(&mut parts, &mut between)?;
        }
        between.put_u8(b']');
        parts.extend([between.freeze(), around.after]);
        Ok(parts)
    }
}
