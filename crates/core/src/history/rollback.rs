//! Taking user turns back.

use super::entry::EntryKind;
use super::items::History;

/// The prefix of the id of a call that stands for an output of a tool of the client.
pub(crate) const CLIENT_CALL: &str = "client_tool_";

/// What taking turns back did besides shortening the history.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RollbackEffect {
    /// Context went with the turns, so the model has to be told anew.
    pub(crate) lost_context: bool,
}

/// A turn begins with what a person said, or with what a tool of the client answered.
fn begins_turn(kind: &EntryKind) -> bool {
    match kind {
        EntryKind::UserTurn => true,
        EntryKind::Call(call) => call.id.starts_with(CLIENT_CALL),
        _ => false,
    }
}

impl History {
    /// Cuts the last `turns` user turns, and the context that was given just before them.
    ///
    /// With more turns than there are everything from the first one goes, its context included.
    pub(crate) fn roll_back(&mut self, turns: usize) -> RollbackEffect {
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
