//! What a turn works with.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use codex_session_base::budget::TurnBudget;
use codex_session_base::events::TurnEmitter;
use codex_session_base::history::Recorder;
use codex_session_base::input::{InputQueue, StopSignal};
use codex_session_base::ports::Model;
use codex_session_base::session_context::SessionContext;
use codex_session_base::turn_settings::TurnSettings;
use codex_tools::{
    ToolCall, ToolContext, ToolServices, TurnCheckpoint, TurnDiffTracker, TurnTools,
};
use tokio_util::sync::CancellationToken;

use super::item_ids::TurnItemIds;
use super::next_step::{NextStep, StepChange};
use super::outcome::TurnError;

/// Everything that a turn works with, except the conversation. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct TurnScope {
    pub(crate) settings: Arc<TurnSettings>,
    pub(crate) session: Arc<SessionContext>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) tool_services: Arc<ToolServices>,
    pub(crate) tools: Arc<TurnTools>,
    pub(crate) input_queue: Arc<InputQueue>,
    pub(crate) next_step: NextStep,
    /// How many of the fallbacks of its model the turn has taken.
    pub(crate) fallbacks_taken: Arc<AtomicUsize>,
    pub(crate) stop: StopSignal,
    pub(crate) diff: TurnDiffTracker,
    pub(crate) checkpoint: TurnCheckpoint,
    pub(crate) budget: TurnBudget,
    pub(crate) item_ids: TurnItemIds,
}

impl TurnScope {
    pub(crate) fn emitter(&self) -> TurnEmitter {
        TurnEmitter::new(self.session.emitter.clone(), Arc::clone(&self.settings.id))
    }

    /// The same turn with other settings.
    pub(super) fn with_change(&self, change: StepChange) -> Self {
        let verbosity = self.session.config.options.verbosity;
        Self {
            settings: Arc::new(change.apply(&self.settings, verbosity)),
            ..self.clone()
        }
    }

    /// Runs the work of the turn within its limits on time.
    pub(crate) async fn in_time<T>(
        &self,
        work: Pin<&mut impl Future<Output = Result<T, TurnError>>>,
    ) -> Result<T, TurnError> {
        let stop = || self.stop.stop_at_limit();
        match self.budget.in_time(&self.model, stop, work).await {
            (Err(TurnError::Stopped), Some(reached)) => Err(TurnError::Limit(reached)),
            (ended, _) => ended,
        }
    }

    pub(crate) fn recorder(&self) -> Recorder<'_> {
        Recorder {
            emitter: &self.session.emitter,
            turn: &self.settings.id,
            policy: self.settings.model.truncation(),
            raw_items: self.session.config.options.raw_items,
        }
    }

    /// `response_ended` is cancelled when the response that the call is part of has ended.
    pub(crate) fn tool_context(
        &self,
        call: ToolCall,
        response_ended: CancellationToken,
    ) -> ToolContext {
        let tools = self.tools.current();
        ToolContext {
            call,
            settings: Arc::clone(&self.settings),
            session: Arc::clone(&self.session),
            services: Arc::clone(&self.tool_services),
            layout: tools.layout(),
            has_patch_tool: tools.has_tool("apply_patch"),
            emitter: self.emitter(),
            input_queue: Arc::clone(&self.input_queue),
            diff: self.diff.clone(),
            checkpoint: self.checkpoint.clone(),
            response_ended,
            command_output: None,
        }
    }
}
