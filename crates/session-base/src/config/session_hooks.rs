//! The hooks of a session, and which of them may run now.

use std::fmt::Debug;
use std::sync::Arc;

use codex_hooks::{Hook, HookDecisions};
use codex_protocol::HookEventName;

/// What the user decides about hooks at this moment.
pub trait HookDecisionSource: Debug + Send + Sync {
    /// The decisions. May read small files.
    fn current(&self) -> Arc<HookDecisions>;
}

/// The configured hooks of a session, in the order in which they are listed. What they do stays as it was when the session
/// began; the decisions of the user about them count at once.
#[derive(Clone, Debug)]
pub struct SessionHooks {
    configured: Arc<[Hook]>,
    decisions: Option<Arc<dyn HookDecisionSource>>,
}

impl Default for SessionHooks {
    fn default() -> Self {
        Self {
            configured: Arc::from([]),
            decisions: None,
        }
    }
}

impl SessionHooks {
    /// Hooks, and who knows which of them may run.
    #[must_use]
    pub fn new(configured: Vec<Hook>, decisions: Arc<dyn HookDecisionSource>) -> Self {
        Self {
            configured: Arc::from(configured),
            decisions: Some(decisions),
        }
    }

    /// The number of configured hooks.
    pub fn count(&self) -> usize {
        self.configured.len()
    }

    /// The hooks of an event that may run now.
    pub fn of_event(&self, event: HookEventName) -> Vec<Hook> {
        self.running(|hook| hook.event == event)
    }

    /// Whether any hook may run now.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.running(|_| true).is_empty()
    }

    fn running(&self, is_meant: impl Fn(&Hook) -> bool) -> Vec<Hook> {
        let mut meant = self
            .configured
            .iter()
            .filter(|hook| is_meant(hook))
            .peekable();
        let has_some = meant.peek().is_some();
        let Some(source) = self.decisions.as_ref().filter(|_| has_some) else {
            return meant.cloned().collect();
        };
        let decisions = source.current();
        meant.filter_map(|hook| decisions.apply(hook)).collect()
    }
}
