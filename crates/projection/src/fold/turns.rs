//! The turns of a stored thread.
//!
//! Items of long threads are only shown, as JSON. Readers of whole threads therefore convert the items of a turn to
//! JSON when the next turn begins; later lines rarely change them.

use bytes::{BufMut, Bytes, BytesMut};
use codex_app_server_protocol::v2::{ThreadItem, Turn, TurnError, TurnItemsView, TurnStatus};
use codex_protocol::RolloutItem;
use codex_transport::EncodedMessage;
use serde::Deserialize;

use super::byte_ranges::{ByteRanges, TurnRanges};
use super::consumer::Consumer;
use super::state::{Fold, ItemIds};
use super::turn::FoldedTurn;
use crate::gap::{Gap, Template};

/// The form in which a client is shown turns of files. It is applied before they are encoded; twice has no other effect
/// than once.
pub trait TurnForm {
    /// The item of a thread in an older form, if that differs.
    fn older_item(&self, thread: &str, item: &ThreadItem) -> Option<ThreadItem>;

    /// The same of the error of a turn.
    fn older_error(&self, error: &TurnError) -> Option<TurnError>;
}

/// The newest form.
impl TurnForm for () {
    fn older_item(&self, _: &str, _: &ThreadItem) -> Option<ThreadItem> {
        None
    }

    fn older_error(&self, _: &TurnError) -> Option<TurnError> {
        None
    }
}

impl FoldedTurn {
    fn take_form(&mut self, thread: &str, form: &impl TurnForm) {
        for item in &mut self.completed {
            if let Some(older) = form.older_item(thread, &item.item) {
                item.item = older;
            }
        }
        if let Some(error) = &mut self.error
            && let Some(older) = form.older_error(error)
        {
            *error = older;
        }
    }
}

/// Converts each turn to JSON when the next one begins, and records its bytes. For readers of whole threads.
#[derive(Debug)]
pub struct PackTurns<F> {
    thread: String,
    form: F,
    pub(super) ranges: ByteRanges,
    /// Whether turns were removed, after which numbers depend on how items are identified.
    pub(super) is_cut: bool,
}

impl<F> PackTurns<F> {
    /// Turns of a thread are converted in this form.
    pub fn new(thread: String, form: F) -> Self {
        Self {
            thread,
            form,
            ranges: ByteRanges::default(),
            is_cut: false,
        }
    }
}

impl<F: TurnForm> Consumer for PackTurns<F> {
    fn turn_added(&mut self, turn: &FoldedTurn) {
        self.ranges.turn_added(turn);
    }

    fn turn_left(&mut self, turn: &mut FoldedTurn) {
        self.ranges.turn_left(turn);
        if !turn.is_open {
            turn.take_form(&self.thread, &self.form);
            turn.pack();
        }
    }

    fn turn_changed(&mut self, position: usize) {
        self.ranges.turn_changed(position);
    }

    fn turns_cut(&mut self, length: usize) {
        self.ranges.turns_cut(length);
        self.is_cut = true;
    }

    fn review_announced(&mut self) {
        self.ranges.review_announced();
    }
}

impl<F: TurnForm> Fold<PackTurns<F>> {
    /// Applies a line of a stored thread, written at `now` and found at `offset`.
    pub fn apply_stored_at(&mut self, offset: u64, now: Option<i64>, line: &RolloutItem) {
        self.consumer.ranges.go_to(offset, self.counters);
        self.apply_stored(now, line);
    }

    /// The turns, and their ranges. No ranges if these differ from those that [`ByteRanges`] records.
    pub fn into_turns_and_ranges(mut self) -> (Turns, Option<TurnRanges>) {
        self.close_open_turn();
        let consumer = self.consumer;
        let is_same = self.ids != ItemIds::Streamed || !consumer.is_cut;
        let ranges = is_same.then(|| consumer.ranges.finish()).flatten();
        let turns = Turns::new(self.turns, &consumer.thread, &consumer.form);
        (turns, ranges)
    }
}

/// A turn of which only the id is read.
#[derive(Deserialize)]
struct TurnId {
    id: String,
}

/// The turns of a stored thread.
#[derive(Debug)]
pub struct Turns {
    /// Turns before the others, as JSON with commas between them.
    earlier: Bytes,
    turns: Vec<FoldedTurn>,
}

impl Turns {
    /// Unfinished turns become interrupted ones.
    pub(super) fn new(mut turns: Vec<FoldedTurn>, thread: &str, form: &impl TurnForm) -> Self {
        for turn in &mut turns {
            turn.completed.append(&mut turn.running);
            turn.take_form(thread, form);
            if turn.status == TurnStatus::InProgress {
                turn.status = TurnStatus::Interrupted;
            }
        }
        Self {
            earlier: Bytes::new(),
            turns,
        }
    }

    /// Adds turns before them: JSON that [`all_but_last`](Self::all_but_last) has made.
    pub fn after(self, earlier: Bytes) -> Self {
        Self { earlier, ..self }
    }

    /// All turns but the last one as JSON, with commas between them.
    pub fn all_but_last(&self) -> serde_json::Result<Vec<Bytes>> {
        let last = self.turns.len().saturating_sub(1);
        self.write_first(last, BytesMut::new())
    }

    /// Adds the running turn with its unfinished items.
    pub fn with_running(mut self, running: Option<Turn>) -> Self {
        let Some(running) = running else {
            return self;
        };
        match self.turns.iter_mut().find(|turn| turn.id == running.id) {
            Some(turn) => {
                turn.unpack();
                turn.status = running.status;
                turn.completed.extend(running.items);
            }
            None => {
                let mut turn = FoldedTurn::new(running.id, true);
                turn.status = running.status;
                turn.error = running.error;
                turn.completed = running.items;
                turn.started_at = running.started_at;
                self.turns.push(turn);
            }
        }
        self
    }

    /// The id of the turn that the stored token usage is of: the newest one that is not the running one and has
    /// responses that ended.
    pub fn newest_with_usage(&self, running: Option<&str>) -> Option<String> {
        let mut turns = self.turns.iter().rev();
        let found = turns.find(|turn| Some(turn.id.as_str()) != running && !turn.is_cut_early());
        found.map(|turn| turn.id.clone()).or_else(|| {
            let earlier = [b"[", &*self.earlier, b"]"].concat();
            let mut earlier: Vec<TurnId> = serde_json::from_slice(&earlier).unwrap_or_default();
            earlier.pop().map(|turn| turn.id)
        })
    }

    pub fn into_vec(self) -> Vec<Turn> {
        let earlier = [b"[", &*self.earlier, b"]"].concat();
        // This program has written the JSON itself, so reading it does not fail.
        let mut all: Vec<Turn> = serde_json::from_slice(&earlier).unwrap_or_default();
        let turn = |mut turn: FoldedTurn| {
            turn.unpack();
            let items = std::mem::take(&mut turn.completed);
            turn.with_items(items, TurnItemsView::Full)
        };
        all.extend(self.turns.into_iter().map(turn));
        all
    }

    /// Inserts the turns into a message with an empty list of turns.
    pub fn put_into(&self, message: Bytes) -> EncodedMessage {
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
        let mut between = BytesMut::new();
        between.put_u8(b'[');
        let turns = self.write_first(self.turns.len(), between)?;
        let mut parts = vec![around.before];
        parts.extend(turns);
        parts.extend([Bytes::from_static(b"]"), around.after]);
        Ok(parts)
    }

    /// Writes the earlier turns and this number of the others behind `between`.
    fn write_first(&self, count: usize, mut between: BytesMut) -> serde_json::Result<Vec<Bytes>> {
        let mut parts = Vec::new();
        if !self.earlier.is_empty() {
            parts.extend([between.split().freeze(), self.earlier.clone()]);
        }
        for (position, turn) in self.turns[..count].iter().enumerate() {
            if position > 0 || !self.earlier.is_empty() {
                between.put_u8(b',');
            }
            turn.write(&mut parts, &mut between)?;
        }
        parts.push(between.freeze());
        Ok(parts)
    }
}
