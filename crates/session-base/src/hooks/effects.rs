//! What the hooks of one event ask for together.

use codex_hooks::PermissionVerdict;
use codex_protocol::{ResponseItem, TruncationMode, TruncationPolicy};
use serde_json::Value;

use crate::config::FinishedHook;
use crate::history::developer_message;
use crate::history::truncate::formatted_cut;

/// The token limit of additional context, unless the hook has one of its own.
const CONTEXT_LIMIT: u64 = 2_500;

/// The hooks of one event, in the order in which they are listed.
#[derive(Debug, Default)]
pub struct HookResults(pub Vec<FinishedHook>);

impl HookResults {
    /// The additional context, as messages for the model.
    pub fn contexts(&self) -> Vec<ResponseItem> {
        let context = |hook: &FinishedHook| {
            let policy = TruncationPolicy {
                mode: TruncationMode::Tokens,
                limit: hook.context_limit.unwrap_or(CONTEXT_LIMIT),
            };
            let text = hook.effects.context.as_deref()?;
            Some(developer_message([formatted_cut(text, policy)]))
        };
        self.0.iter().filter_map(context).collect()
    }

    /// Whether a hook wants what the event is about to go no further.
    pub fn stops(&self) -> bool {
        self.0.iter().any(|hook| hook.effects.stops)
    }

    /// The hooks that object, with their reasons.
    pub fn objections(&self) -> impl Iterator<Item = (&FinishedHook, &str)> {
        let hooks = self.0.iter();
        hooks.filter_map(|hook| Some((hook, hook.effects.objection.as_deref()?)))
    }

    /// The arguments in place of those of the model. The last hook counts.
    pub fn take_updated_input(&mut self) -> Option<Value> {
        let hooks = self.0.iter_mut().rev();
        hooks
            .filter_map(|hook| hook.effects.updated_input.take())
            .next()
    }

    /// The answer to a request for permission: one denial is enough.
    pub fn permission(&self) -> Option<&PermissionVerdict> {
        let mut verdicts = self
            .0
            .iter()
            .filter_map(|hook| hook.effects.permission.as_ref());
        let denial = |verdict: &&PermissionVerdict| matches!(verdict, PermissionVerdict::Deny(_));
        verdicts.clone().find(denial).or_else(|| verdicts.next())
    }
}
