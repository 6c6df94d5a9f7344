//! Taking user turns back.

use super::entry::EntryKind;
use super::items::History;
use crate::input::CLIENT_CALL;

/// The effect of rolling back, besides the shorter history.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RollbackEffect {
    /// Whether context was removed with the turns, so that it has to be sent again.
    pub lost_context: bool,
}

/// A turn begins with a message of the user, or with an output of a tool of the client.
fn begins_turn(kind: &EntryKind) -> bool {
    match kind {
        EntryKind::UserTurn => true,
        EntryKind::Call(call) => call.id.starts_with(CLIENT_CALL),
        _ => false,
    }
}

impl History {
    /// Removes the last `turns` user turns, and the context recorded just before them.
    ///
    /// If there are fewer turns, everything from the first one on is removed, with its context.
    pub fn roll_back(&mut self, turns: usize) -> RollbackEffect {
        let starts: Vec<usize> = self
            .entries()
            .iter()
            .enumerate()
            .filter(|(_, entry)| begins_turn(&entry.kind))
            .map(|(index, _)| index)
            .collect();
        let Some(first) = starts.first() else {
            return RollbackEffect::default();
        };
        let kept = starts.len().saturating_sub(turns);
        let mut cut = *starts.get(kept).unwrap_or(first);
        let floor = if kept == 0 { 0 } else { first + 1 };
        while cut > floor {
            match &self.entries()[cut - 1].kind {
                EntryKind::UserContext | EntryKind::Developer { settings: true, .. } => cut -= 1,
                _ => break,
            }
        }
        let is_context =
            |kind: &EntryKind| matches!(kind, EntryKind::UserContext | EntryKind::Developer { .. });
        let lost_context = self.entries()[cut..]
            .iter()
            .any(|entry| is_context(&entry.kind));
        self.truncate(cut);
        RollbackEffect { lost_context }
    }
}
