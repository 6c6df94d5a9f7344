//! Compaction: replaces the history by something shorter.
//!
//! A provider that can compact does so; otherwise the model writes a summary. The history is replaced in one
//! step at the end, so a compaction that fails or is stopped changes nothing.

mod local;
mod remote;

use std::pin::pin;
use std::sync::Arc;

use codex_hooks::{CompactionTrigger, EventInput};
use codex_model_client::{ModelInfo, ModelRequest};
use codex_protocol::{
    Compacted, ContextCompactionItem, EventMsg, ResponseItem, TurnItem, WarningEvent,
};
use codex_rollout::LineKind;
use codex_session_base::context;
use codex_session_base::events::TurnEmitter;
use codex_session_base::history::{Conversation, summary, user_message, wrapped_pin};
use codex_session_base::session_context::SessionBeginning;
use codex_session_base::thread::OperationReply;

use crate::turn::finish::finish;
use crate::turn::guard::TurnGuard;
use crate::turn::outcome::{CompletedTurn, TurnError};
use crate::turn::recording::RunningTurn;
use crate::turn::scope::TurnScope;

/// When a turn compacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompactionPhase {
    /// The context is recorded again after the summary.
    BeforeTurn,
    /// The context is inserted before the last message of the user.
    MidTurn,
}

/// Compacts as a task of its own.
pub(crate) async fn run_compaction(
    scope: TurnScope,
    mut conversation: Conversation,
    reply: OperationReply,
) -> Conversation {
    let emitter = scope.emitter();
    let guard = TurnGuard::start(&scope);
    // The turn is shown, so it is stored, also if it is the first one.
    crate::git::materialise(&scope.session);
    let mut turn = RunningTurn {
        scope: &scope,
        emitter: &emitter,
        conversation: &mut conversation,
    };
    let ended = {
        let work = turn.compact(CompactionPhase::BeforeTurn, CompactionTrigger::Manual);
        scope.in_time(pin!(work)).await
    };
    let result = ended.as_ref().copied().map_err(TurnError::operation_error);
    let ended = ended.map(|()| CompletedTurn::default());
    finish(&scope, &mut conversation, guard, ended).await;
    reply.send(result);
    conversation
}

/// The item of a compaction. One that fails is not completed.
struct CompactionItem<'a> {
    emitter: &'a TurnEmitter,
    item: TurnItem,
}

impl<'a> CompactionItem<'a> {
    fn start(emitter: &'a TurnEmitter, id: String) -> Self {
        let item = TurnItem::ContextCompaction(ContextCompactionItem { id });
        emitter.item_started(item.clone());
        Self { emitter, item }
    }

    fn id(&self) -> &str {
        self.item.id().unwrap_or_default()
    }

    fn done(self) {
        self.emitter.item_completed(self.item, false);
    }
}

impl RunningTurn<'_> {
    /// Compacts if the context has reached the limit.
    pub(crate) async fn compact_if_full(
        &mut self,
        phase: CompactionPhase,
    ) -> Result<(), TurnError> {
        if !self.is_full() {
            return Ok(());
        }
        self.compact(phase, CompactionTrigger::Auto).await
    }

    /// Whether a limit on the context is reached: that of the model, or a configured one on its growth.
    fn is_full(&self) -> bool {
        let used = self.context_tokens();
        let of_model = self.scope.settings.model.auto_compact_limit();
        let options = &self.scope.session.config.options;
        let of_growth = (options.auto_compact_limit).filter(|_| options.compaction.counts_growth);
        let grown = (self.conversation.usage.first_input).map(|first| used.saturating_sub(first));
        of_model.is_some_and(|limit| used >= limit)
            || of_growth.is_some_and(|limit| grown.is_some_and(|grown| grown >= limit))
    }

    /// Compacts after the last response of a turn if the configured part of the window is used. A turn that is done does
    /// not fail by that.
    pub(crate) async fn compact_after_turn(&mut self) -> Result<(), TurnError> {
        let rules = &self.scope.session.config.options.compaction;
        let window = self.scope.settings.model.context_window;
        let (Some(percent), Some(window)) = (rules.after_turn_percent, window) else {
            return Ok(());
        };
        if self.context_tokens().saturating_mul(100) < window.saturating_mul(percent.into()) {
            return Ok(());
        }
        let phase = CompactionPhase::BeforeTurn;
        match self.compact(phase, CompactionTrigger::Auto).await {
            Ok(()) => Ok(()),
            Err(TurnError::Stopped) => Err(TurnError::Stopped),
            Err(error) => {
                if let Some(event) = error.event() {
                    let message = format!(
                        "The history was not compacted after the turn: {}",
                        event.message
                    );
                    self.emitter
                        .emit(EventMsg::Warning(WarningEvent { message }));
                }
                Ok(())
            }
        }
    }

    /// The estimated tokens of the next request.
    fn context_tokens(&self) -> i64 {
        let (history, usage) = (&self.conversation.history, &self.conversation.usage);
        let past = if usage.reasoning_included {
            0
        } else {
            history.past_reasoning_tokens()
        };
        let estimated = history.tokens_since_model() + past;
        usage
            .last_total()
            .saturating_add(i64::try_from(estimated).unwrap_or(i64::MAX))
    }

    pub(crate) async fn compact(
        &mut self,
        phase: CompactionPhase,
        trigger: CompactionTrigger,
    ) -> Result<(), TurnError> {
        self.around_compaction(EventInput::PreCompact, trigger)
            .await?;
        let item = CompactionItem::start(self.emitter, self.scope.session.ids.item());
        let Compaction { mut items, message } = if self.scope.model.compacts() {
            self.compact_remotely(phase, item.id()).await?
        } else {
            self.compact_locally(phase, item.id()).await?
        };
        // From here on nothing fails and nothing waits.
        let pins = self.scope.session.pins.lock().clone();
        let pinned = pins
            .iter()
            .map(|pin| user_message([wrapped_pin(&pin.text)]));
        items.splice(0..0, pinned);
        self.conversation.reference = None;
        if phase == CompactionPhase::MidTurn {
            let at = context_index(&items);
            items.splice(at..at, context::initial(&self.scope.settings, None));
            self.conversation.reference = Some(context::turn_context(&self.scope.settings));
        }
        self.replace_history(items, message, item.id());
        item.done();
        let message = "Long threads and repeated compaction make the model less accurate. Start a \
                       new thread when you can."
            .to_owned();
        self.emitter
            .emit(EventMsg::Warning(WarningEvent { message }));
        self.around_compaction(EventInput::PostCompact, trigger)
            .await?;
        let beginning = SessionBeginning::Compaction;
        self.scope.session.beginning.lock().get_or_insert(beginning);
        if trigger == CompactionTrigger::Auto {
            // One on request is followed by a turn that begins the session.
            self.begin_session().await?;
        }
        Ok(())
    }

    /// The request with the whole conversation. Before a turn with a smaller model it goes to the previous
    /// model, which can read all of it.
    fn request_to_compact(
        &mut self,
        phase: CompactionPhase,
        id: &str,
    ) -> (ModelRequest, Arc<ModelInfo>) {
        let request = ModelRequest {
            output_schema: None,
            ..self.request(Some(id))
        };
        let own = Arc::clone(&self.scope.settings.model);
        let previous = self.conversation.previous_model.as_deref();
        let larger = previous
            .filter(|previous| phase == CompactionPhase::BeforeTurn && *previous != own.slug)
            .map(|previous| self.scope.model.resolve(previous).info)
            .filter(|previous| {
                previous.effective_context_window() > own.effective_context_window()
            });
        match larger {
            Some(larger) => {
                let model = larger.slug.clone();
                (ModelRequest { model, ..request }, larger)
            }
            None => (request, own),
        }
    }

    fn replace_history(&mut self, items: Vec<ResponseItem>, message: String, id: &str) {
        if let Some(observer) = self.scope.session.emitter.observer() {
            let images = self.scope.settings.model.takes_images();
            let before = self.conversation.history.prompt(images);
            observer.compacted(self.emitter.turn_id(), id, before, &items);
        }
        let replacement = items.iter().cloned();
        self.conversation.history.replace(replacement);
        // What a compaction costs is no news.
        *self.scope.session.sent_prefix.lock() = None;
        if let Some(last) = &mut *self.scope.session.last_request.lock() {
            last.prompt = self.conversation.history.as_it_is();
            last.usage = None;
        }
        let emitter = &self.scope.session.emitter;
        let replacement_history = Some(items);
        emitter.log(
            LineKind::Compacted,
            &Compacted {
                message,
                replacement_history,
            },
        );
        if let Some(reference) = &self.conversation.reference {
            emitter.log(LineKind::TurnContext, reference);
        }
        let window = self.scope.settings.model.effective_context_window();
        let instructions = &self.scope.settings.instructions.base;
        self.conversation.estimate(instructions, window);
        self.emitter.emit(self.conversation.usage.event());
    }
}

/// The new history.
#[derive(Debug)]
struct Compaction {
    items: Vec<ResponseItem>,
    /// The text for the rollout: the summary, if it is readable.
    message: String,
}

/// Where the context is inserted in the middle of a turn: before the last message of the user, or else before
/// the summary.
fn context_index(items: &[ResponseItem]) -> usize {
    let last = |wanted: &dyn Fn(&ResponseItem) -> bool| items.iter().rposition(wanted);
    last(&summary::is_user_message)
        .or_else(|| last(&summary::is_summary_item))
        .or_else(|| last(&|item| matches!(item, ResponseItem::Compaction { .. })))
        .unwrap_or(items.len())
}
