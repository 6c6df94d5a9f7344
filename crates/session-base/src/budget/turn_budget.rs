//! The budget of one turn: asked before each request, charged after each response.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use codex_model_client::ModelInfo;
use codex_protocol::{
    ExceededLimit, LimitKind, LimitScope, ThreadLimits, TokenUsage, TurnUsage, UsageLimits,
};

use super::shared_use::ThreadBudget;
use super::turn_meter::TurnMeter;
use super::used::Used;
use crate::ports::{Clock, Model};

/// The budget of a turn. Clones are the same budget.
#[derive(Clone, Debug)]
pub struct TurnBudget {
    thread: Arc<ThreadBudget>,
    meter: Arc<TurnMeter>,
    /// Of the thread alone.
    thread_limits: UsageLimits,
    clock: Arc<dyn Clock>,
}

/// A limit that leaves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Stopped: {} has a limit of {text}.", name_of(.limit.scope))]
pub struct LimitReached {
    pub limit: ExceededLimit,
    text: String,
}

fn name_of(scope: LimitScope) -> &'static str {
    match scope {
        LimitScope::Turn => "the turn",
        LimitScope::Thread => "the thread",
        LimitScope::Tree => "the thread with its agents",
    }
}

/// Why a request to the model is not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestRefused {
    #[error(transparent)]
    Limit(LimitReached),
    /// A limit on the cost cannot be kept.
    #[error(
        "There is a limit on the cost, but no price of the model `{0}` is known. Add `prices` to its entry in \
         the model catalogue, or remove `maxCost`."
    )]
    UnknownPrice(String),
}

/// What is limited: its use, its limits, and what it is.
type Measured = (LimitScope, UsageLimits, Used);

impl TurnBudget {
    /// `limits` are those of the thread, with those of the turn in place of `limits.turn`.
    pub fn new(thread: &Arc<ThreadBudget>, limits: &ThreadLimits, clock: &Arc<dyn Clock>) -> Self {
        Self {
            thread: Arc::clone(thread),
            meter: Arc::new(TurnMeter::new(limits.turn, clock.elapsed())),
            thread_limits: limits.thread,
            clock: Arc::clone(clock),
        }
    }

    /// The turn begins.
    pub fn begin(&self, limits: &ThreadLimits) {
        self.thread.set_tree_limits(limits.tree);
        self.thread.turn_began(&self.meter);
    }

    /// The turn has ended. Returns what it has used, if anything.
    pub fn end(&self) -> Option<TurnUsage> {
        self.thread.turn_ended(&self.meter, self.clock.elapsed());
        let usage = self.meter.usage();
        (usage.requests > 0 || !usage.tools.is_empty()).then_some(usage)
    }

    /// The turn goes on that had not ended when its process did: its use until then counts, too.
    pub async fn go_on(&self, model: &Arc<dyn Model>) {
        if !self.meter.limits.is_empty() {
            let before = self.thread.stored(model).await;
            self.meter.add(&before.unfinished_turn, None);
        }
    }

    /// Everything with a limit that the turn must keep.
    fn limited(&self) -> Vec<Measured> {
        let now = self.clock.elapsed();
        let own = self.meter.total(now);
        let mut thread = self.thread.used();
        thread.time += own.time;
        let (tree, tree_limits) = self.thread.tree_used(now);
        let mut all = vec![
            (LimitScope::Turn, self.meter.limits, own),
            (LimitScope::Thread, self.thread_limits, thread),
            (LimitScope::Tree, tree_limits, tree),
        ];
        let above = self.thread.turns_above();
        all.extend(
            above
                .iter()
                .map(|turn| (LimitScope::Turn, turn.limits, turn.total(now))),
        );
        all.retain(|(_, limits, _)| !limits.is_empty());
        all
    }

    /// Asks for one more request to the model, and counts it.
    pub fn request(&self, model: &ModelInfo) -> Result<(), RequestRefused> {
        for (scope, limits, used) in self.limited() {
            if limits.max_cost.is_some() && model.prices.is_none() {
                return Err(RequestRefused::UnknownPrice(model.slug.clone()));
            }
            if let Some((limit, text)) = used.reached(&limits) {
                let limit = ExceededLimit { scope, limit };
                return Err(RequestRefused::Limit(LimitReached { limit, text }));
            }
        }
        self.add(&Used::of_request());
        Ok(())
    }

    /// Adds the use of a response.
    pub fn charge(&self, tokens: TokenUsage, model: &ModelInfo) {
        self.add(&Used::of_response(tokens, model.prices.as_ref()));
    }

    fn add(&self, used: &Used) {
        self.meter.add(used, None);
        self.thread.add(used);
    }

    /// Adds a call of a tool.
    pub fn add_call(&self, tool: &str, failed: bool, took: Duration, output_tokens: usize) {
        self.meter.add_call(tool, failed, took, output_tokens);
    }

    /// The first limit on time that will be reached, and when.
    fn deadline(&self) -> Option<(Duration, LimitReached)> {
        let deadlines = self
            .limited()
            .into_iter()
            .filter_map(|(scope, limits, used)| {
                let left = used.time_left(&limits)?;
                let max = limits.max_seconds?;
                let limit = ExceededLimit {
                    scope,
                    limit: LimitKind::MaxSeconds,
                };
                let text = format!("{max} seconds");
                Some((left, LimitReached { limit, text }))
            });
        deadlines.min_by_key(|(left, _)| *left)
    }

    /// Runs a turn within its limits on time. When one is reached, `stop` is called once, and the work must end.
    /// Returns the limit, if one was reached.
    pub async fn in_time<T>(
        &self,
        model: &Arc<dyn Model>,
        stop: impl FnOnce(),
        mut work: Pin<&mut impl Future<Output = T>>,
    ) -> (T, Option<LimitReached>) {
        self.thread.read_stored(&self.thread_limits, model).await;
        let Some((left, reached)) = self.deadline() else {
            return (work.await, None);
        };
        tokio::select! {
            biased;
            done = &mut work => return (done, None),
            () = self.clock.sleep(left) => stop(),
        }
        (work.await, Some(reached))
    }
}
