//! The state of the fold: unfinished turns, and counters.

use codex_app_server_protocol::v2::ThreadItem;
use serde::{Deserialize, Serialize};

use super::consumer::Consumer;
use super::turn::FoldedTurn;

/// The turns of a thread, after the events so far.
#[derive(Debug)]
pub struct Fold<C> {
    pub(super) consumer: C,
    pub(super) turns: Vec<FoldedTurn>,
    pub(super) earlier: EarlierTurns,
    pub(super) counters: Counters,
    /// The first item of a stored review whose turn has not started yet.
    pub(super) entered: Option<ThreadItem>,
    pub(super) ids: ItemIds,
}

/// The turns before those that a fold has.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlierTurns {
    pub(super) count: usize,
    /// The number of their numbered items, if it is known.
    pub(super) numbered: Option<usize>,
}

impl EarlierTurns {
    const NONE: Self = Self {
        count: 0,
        numbered: Some(0),
    };
}

/// How the items of a stored thread are identified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ItemIds {
    /// By numbers.
    #[default]
    Numbered,
    /// By their streamed ids, if they are stored.
    Streamed,
    /// By numbers and without times, as in a legacy history.
    Untimed,
}

/// Counters since the first line of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The number of numbered items.
    pub(super) items: usize,
    /// The number of stored turns without an explicit start.
    pub(super) unnamed_turns: u64,
    /// Whether the last item is reasoning that older events still extend.
    pub(super) in_reasoning: bool,
}

/// The origin of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventContext<'a> {
    /// The submission id of a live event, which is its turn; none for a stored one.
    pub(super) submission: Option<&'a str>,
    /// The time of the event in Unix milliseconds.
    pub(super) now: Option<i64>,
    /// The same, if items have times.
    pub(super) item_time: Option<i64>,
}

impl EventContext<'_> {
    pub(super) fn is_live(&self) -> bool {
        self.submission.is_some()
    }
}

impl<C: Consumer> Fold<C> {
    /// Sets how items of a stored thread are identified.
    pub fn with_ids(self, ids: ItemIds) -> Self {
        Self { ids, ..self }
    }

    pub fn new(consumer: C) -> Self {
        Self {
            consumer,
            turns: Vec::new(),
            earlier: EarlierTurns::NONE,
            counters: Counters::default(),
            entered: None,
            ids: ItemIds::default(),
        }
    }

    pub fn consumer(&mut self) -> &mut C {
        &mut self.consumer
    }

    pub fn into_consumer(self) -> C {
        self.consumer
    }

    pub(super) fn number(&mut self) -> String {
        self.counters.items += 1;
        format!("item-{}", self.counters.items)
    }

    pub(super) fn turn_mut(&mut self, id: &str) -> Option<&mut FoldedTurn> {
        self.turns.iter_mut().rev().find(|turn| turn.id == id)
    }

    /// The open turn. If there is none, opens one without an explicit start.
    pub(super) fn open_turn(&mut self, context: EventContext<'_>) -> &mut FoldedTurn {
        let position = self.open_position(context);
        &mut self.turns[position]
    }

    pub(super) fn open_position(&mut self, context: EventContext<'_>) -> usize {
        if !self.turns.last().is_some_and(|turn| turn.is_open) {
            let mut turn = FoldedTurn::new(self.id_of_unnamed(context), false);
            let entered = self.entered.take();
            turn.completed
                .extend(entered.map(|item| context.at_once(item)));
            self.add_turn(turn);
        }
        self.turns.len() - 1
    }

    pub(super) fn add_turn(&mut self, turn: FoldedTurn) {
        self.leave_turn();
        self.consumer.turn_added(&turn);
        self.turns.push(turn);
    }

    /// Completes the last turn, because something else begins.
    pub(super) fn leave_turn(&mut self) {
        if let Some(turn) = self.turns.last_mut() {
            self.consumer.turn_left(turn);
        }
    }

    /// The id of a turn without one. For a stored turn it is the same each time.
    fn id_of_unnamed(&mut self, context: EventContext<'_>) -> String {
        if context.is_live() {
            return uuid::Uuid::now_v7().to_string();
        }
        let now = context.now.unwrap_or_default();
        self.counters.unnamed_turns += 1;
        let mut counted = [0; 10];
        counted[2..].copy_from_slice(&self.counters.unnamed_turns.to_be_bytes());
        let id = uuid::Builder::from_unix_timestamp_millis(now.unsigned_abs(), &counted);
        id.into_uuid().to_string()
    }

    pub(super) fn close_open_turn(&mut self) {
        let Some(turn) = self.turns.last_mut().filter(|turn| turn.is_open) else {
            return;
        };
        turn.is_open = false;
        if !turn.is_explicit && turn.completed.is_empty() && !turn.has_compaction {
            self.turns.pop();
            self.consumer
                .turns_cut(self.earlier.count + self.turns.len());
        }
    }
}
