//! The turns of a stored thread.
//!
//! A long thread is shown as JSON and nothing else. Where it is read as a whole, the items of a turn are
//! written as JSON as soon as the next turn begins; a later line rarely adds to them.

use bytes::{BufMut, Bytes, BytesMut};
use codex_app_server_protocol::v2::{Turn, TurnItemsView, TurnStatus};

use super::consumer::Consumer;
use super::turn::FoldedTurn;
use crate::gap::{Gap, Template};
use crate::message::EncodedMessage;

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
            None => {
                let mut turn = FoldedTurn::new(running.id, true);
                turn.status = running.status;
                turn.error = running.error;
                turn.completed = running.items;
                turn.started_at = running.started_at;
                self.0.push(turn);
            }
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
    pub(crate) fn put_into(&self, message: Bytes) -> EncodedMessage {
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
