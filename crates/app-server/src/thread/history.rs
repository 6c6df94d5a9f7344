//! What is stored of a thread: its file, gone through once. Lines that say nothing about it are passed
//! over without being read.

use std::ops::ControlFlow;
use std::path::Path;

use codex_app_server_protocol::v2::Turn;
use codex_protocol::{EventMsg, ReasoningEffort, RolloutItem, SessionMeta, TurnContext};
use codex_rollout::{LoadError, ScannedLine, scan};

use crate::projection::{Fold, Listener, Moment, preview_of_message};

/// A stored thread.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) meta: SessionMeta,
    /// Its first message.
    pub(crate) preview: String,
    /// A turn that was cut off is still in progress.
    pub(crate) turns: Vec<Turn>,
    /// What its last turn was run with.
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<ReasoningEffort>,
}

/// Reads the file of a thread.
///
/// # Errors
/// The file cannot be read, or it does not say what thread it is.
pub(crate) fn read_history(path: &Path) -> Result<History, LoadError> {
    let mut reader = Reader::default();
    scan(path, |line| {
        reader.take(line);
        ControlFlow::Continue(())
    })?;
    reader.finish()
}

#[derive(Debug)]
struct Reader {
    fold: Fold,
    meta: Option<SessionMeta>,
    preview: Option<String>,
    /// The newest settings of a turn, not read yet.
    settings: Vec<u8>,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            fold: Fold::new(String::new(), Listener::Nobody),
            meta: None,
            preview: None,
            settings: Vec::new(),
        }
    }
}

impl Reader {
    fn take(&mut self, line: ScannedLine<'_>) {
        let Some((kind, payload)) = line.kind() else {
            return;
        };
        let counts = match kind.as_ref() {
            "session_meta" => self.meta.is_none(),
            "event_msg" => payload.as_deref().is_none_or(shows_something),
            "response_item" => payload.as_deref().is_none_or(|kind| kind == "reasoning"),
            "turn_context" => {
                self.settings.clear();
                self.settings.extend_from_slice(line.bytes());
                false
            }
            "compacted" => true,
            _ => false,
        };
        if !counts {
            return;
        }
        let Some(line) = line.read() else {
            return;
        };
        match line.item {
            RolloutItem::SessionMeta(meta) => drop(self.meta.get_or_insert(*meta)),
            item => {
                if let RolloutItem::EventMsg(EventMsg::UserMessage(message)) = &item
                    && self.preview.is_none()
                {
                    self.preview = preview_of_message(message).map(str::to_owned);
                }
                self.fold.apply_stored(Moment::Text(&line.timestamp), &item);
            }
        }
    }

    fn finish(self) -> Result<History, LoadError> {
        let settings = self.settings();
        let (model, effort) = settings.map_or((None, None), |settings| {
            (Some(settings.model), settings.effort)
        });
        Ok(History {
            meta: self.meta.ok_or(LoadError::NoMeta)?,
            preview: self.preview.unwrap_or_default(),
            turns: self.fold.into_turns(),
            model,
            effort,
        })
    }

    fn settings(&self) -> Option<TurnContext> {
        let line = std::str::from_utf8(&self.settings).ok()?;
        match codex_protocol::RolloutLine::read(line).ok()?.item {
            RolloutItem::TurnContext(settings) => Some(*settings),
            _ => None,
        }
    }
}

/// Whether the events of a kind make turns or items. The others are many.
fn shows_something(kind: &str) -> bool {
    !matches!(kind, "token_count" | "guardian_assessment" | "turn_diff")
}
