//! Compaction by the provider: it returns the new history.

use codex_model_client::{ModelInfo, ModelRequest};
use codex_protocol::ResponseItem;
use codex_session_base::history::summary::without_images;
use codex_session_base::history::{EntryKind, HistoryEntry};

use super::{Compaction, CompactionPhase};
use crate::turn::outcome::TurnError;
use crate::turn::recording::RunningTurn;

impl RunningTurn<'_> {
    pub(super) async fn compact_remotely(
        &mut self,
        phase: CompactionPhase,
        id: &str,
    ) -> Result<Compaction, TurnError> {
        let (mut request, model) = self.request_to_compact(phase, id);
        self.make_it_fit(&mut request, &model);
        if request.input.is_empty() {
            let (items, message) = (Vec::new(), String::new());
            return Ok(Compaction { items, message });
        }
        self.scope.budget.request(&model)?;
        let compacted = tokio::select! {
            biased;
            () = self.scope.stop.stopped() => return Err(TurnError::Stopped),
            compacted = self.scope.model.compact(request) => compacted,
        };
        let items = compacted.map_err(|error| TurnError::Failed {
            message: format!("Error running remote compact task: {error}"),
            info: error.codex_error_info(),
        })?;
        let items = items
            .into_iter()
            .filter(stays)
            .map(without_images)
            .collect();
        let message = String::new();
        Ok(Compaction { items, message })
    }

    /// Drops items of the engine from the end, calls together with their outputs, until the rest fits into
    /// the model.
    fn make_it_fit(&self, request: &mut ModelRequest, model: &ModelInfo) {
        let Some(window) = model.effective_context_window() else {
            return;
        };
        let window = usize::try_from(window).unwrap_or(0);
        let history = &self.conversation.history;
        let mut tokens = history.tokens();
        let mut dropped = Vec::new();
        let sent = history.entries();
        let mut length = sent.len();
        while tokens > window
            && let Some(last) = length.checked_sub(1).map(|at| &sent[at])
        {
            match &last.kind {
                EntryKind::Output(link) => dropped.push(link.clone()),
                EntryKind::Call(link) if dropped.contains(link) => {}
                EntryKind::Developer { .. } => {}
                _ => break,
            }
            tokens = tokens.saturating_sub(last.tokens);
            length -= 1;
        }
        // Also drops a call further up whose output was dropped.
        let is_gone = |entry: &HistoryEntry| matches!(&entry.kind, EntryKind::Call(link) if dropped.contains(link));
        let items = request.input.items().zip(&sent[..length]);
        request.input = items
            .filter(|(_, entry)| !is_gone(entry))
            .map(|(item, _)| item)
            .collect();
    }
}

/// Whether an item is kept in the new history. Items of the engine are recorded again.
fn stays(item: &ResponseItem) -> bool {
    matches!(
        EntryKind::from_item(item),
        Some(EntryKind::UserTurn | EntryKind::Assistant | EntryKind::Compaction)
    )
}
