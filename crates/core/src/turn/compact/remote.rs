//! Compaction by the provider: it answers what is to stand for the conversation.

use codex_model_client::{ModelInfo, ModelRequest};
use codex_protocol::ResponseItem;

use super::Compaction;
use super::CompactionPhase;
use crate::history::summary::without_images;
use crate::history::{EntryKind, HistoryEntry};
use crate::turn::outcome::TurnError;
use crate::turn::recording::Turn;

impl Turn<'_> {
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

    /// What the engine itself put at the end goes first, calls together with their outputs, until
    /// the model can take the rest in.
    fn make_it_fit(&self, request: &mut ModelRequest, model: &ModelInfo) {
        let Some(window) = model.effective_context_window() else {
            return;
        };
        let window = usize::try_from(window).unwrap_or(0);
        let history = &self.conversation.history;
        let mut tokens = history.tokens();
        let mut dropped = Vec::new();
        let sent = history.entries().iter();
        let sent: Vec<_> = sent.filter(|entry| entry.is_sent()).collect();
        let mut length = sent.len();
        while tokens > window
            && let Some(last) = length.checked_sub(1).map(|at| sent[at])
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
        // A call whose output went but that stands further up goes too.
        let is_gone = |entry: &HistoryEntry| matches!(&entry.kind, EntryKind::Call(link) if dropped.contains(link));
        let kept = request.input.items().zip(&sent[..length]);
        let kept = kept.filter(|(_, entry)| !is_gone(entry));
        let kept = kept.map(|(item, _)| item).collect();
        request.input = kept;
    }
}

/// Whether an item of the answer has a place in the new history: the engine's own words are told anew.
fn stays(item: &ResponseItem) -> bool {
    matches!(
        EntryKind::of(item),
        Some(EntryKind::UserTurn | EntryKind::Assistant | EntryKind::Compaction)
    )
}
