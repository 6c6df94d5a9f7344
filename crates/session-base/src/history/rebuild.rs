//! Rebuilds a history from the lines of a rollout.

use codex_protocol::{
    EventMsg, ResponseItem, RolloutItem, SandboxPolicy, ThreadPin, TokenUsageInfo,
    TruncationPolicy, TurnContext,
};

use super::items::History;
use super::summary;

/// What is rebuilt from the lines of a rollout.
#[derive(Debug, Default)]
pub(super) struct RebuiltHistory {
    pub history: History,
    /// The context that the model has; none if it has to be sent again.
    pub reference: Option<TurnContext>,
    /// The model of the last turn.
    pub previous_model: Option<String>,
    pub tokens: Option<TokenUsageInfo>,
    /// The ids of the apps that the user has mentioned.
    pub mentioned_apps: Vec<String>,
    /// What is pinned.
    pub pins: Vec<ThreadPin>,
    /// Whether all turns had full access.
    pub had_full_access: Option<bool>,
}

/// Replays the lines in order. Calls without an output stay open. Outputs are cut as they were when they were sent: by the policy of
/// their turn, and by this one where the turn does not say its own.
pub(super) fn rebuild(
    lines: impl IntoIterator<Item = RolloutItem>,
    policy: TruncationPolicy,
) -> RebuiltHistory {
    rebuild_observed(lines, policy, |_, _| {}, |_, _, _| {})
}

/// The same, with a look at each line, and at the history before and after each compaction.
pub(super) fn rebuild_observed(
    lines: impl IntoIterator<Item = RolloutItem>,
    mut policy: TruncationPolicy,
    mut on_line: impl FnMut(&RolloutItem, &History),
    mut on_compaction: impl FnMut(&History, &str, &History),
) -> RebuiltHistory {
    let mut rebuilt = RebuiltHistory::default();
    for line in lines {
        on_line(&line, &rebuilt.history);
        match line {
            RolloutItem::ResponseItem(item) => {
                rebuilt.history.record(item, policy);
            }
            RolloutItem::TurnContext(context) => {
                policy = context.truncation_policy.unwrap_or(policy);
                let is_full = context.sandbox_policy == SandboxPolicy::DangerFullAccess;
                rebuilt.had_full_access = Some(rebuilt.had_full_access.unwrap_or(true) && is_full);
                rebuilt.previous_model = Some(context.model.clone());
                rebuilt.mentioned_apps.clone_from(&context.mentioned_apps);
                rebuilt.reference = Some(*context);
            }
            RolloutItem::Compacted(compacted) => {
                let before = std::mem::take(&mut rebuilt.history);
                let made = || older_replacement(&before, &compacted.message);
                let items = compacted.replacement_history.unwrap_or_else(made);
                rebuilt.history.replace(items);
                on_compaction(&before, &compacted.message, &rebuilt.history);
                rebuilt.reference = None;
            }
            RolloutItem::EventMsg(EventMsg::ThreadRolledBack(back)) => {
                let turns = usize::try_from(back.num_turns).unwrap_or(usize::MAX);
                if rebuilt.history.roll_back(turns).lost_context {
                    rebuilt.reference = None;
                }
            }
            RolloutItem::Pins(pins) => rebuilt.pins = pins.pins,
            RolloutItem::EventMsg(EventMsg::TokenCount(count)) => {
                rebuilt.tokens = count.info.or(rebuilt.tokens);
            }
            _ => {}
        }
    }
    rebuilt
}

/// Older files do not contain the history after a compaction; it is made here.
fn older_replacement(before: &History, message: &str) -> Vec<ResponseItem> {
    summary::compacted_history(&summary::user_texts(before), message)
}
