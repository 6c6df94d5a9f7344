//! Rebuilds a history from the lines of a rollout.

use codex_protocol::{
    EventMsg, ResponseItem, RolloutItem, SandboxPolicy, TokenUsageInfo, TruncationPolicy,
    TurnContext,
};

use super::items::History;
use super::summary;

/// What is rebuilt from the lines of a rollout.
#[derive(Debug, Default)]
pub(crate) struct RebuiltHistory {
    pub(crate) history: History,
    /// The context that the model has; none if it has to be sent again.
    pub(crate) reference: Option<TurnContext>,
    /// The model of the last turn.
    pub(crate) previous_model: Option<String>,
    pub(crate) tokens: Option<TokenUsageInfo>,
    /// The ids of the apps that the user has mentioned.
    pub(crate) mentioned_apps: Vec<String>,
    /// Whether all turns had full access.
    pub(crate) had_full_access: Option<bool>,
}

/// Replays the lines in order. Calls without an output stay open. Outputs are cut as they were when they were sent: by the policy of
/// their turn, and by this one where the turn does not say its own.
pub(crate) fn rebuild(
    lines: impl IntoIterator<Item = RolloutItem>,
    mut policy: TruncationPolicy,
) -> RebuiltHistory {
    let mut rebuilt = RebuiltHistory::default();
    for line in lines {
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
                match compacted.replacement_history {
                    Some(items) => rebuilt.history.replace(items),
                    None => summarise(&mut rebuilt.history, &compacted.message),
                }
                rebuilt.reference = None;
            }
            RolloutItem::EventMsg(EventMsg::ThreadRolledBack(back)) => {
                let turns = usize::try_from(back.num_turns).unwrap_or(usize::MAX);
                if rebuilt.history.roll_back(turns).lost_context {
                    rebuilt.reference = None;
                }
            }
            RolloutItem::EventMsg(EventMsg::TokenCount(count)) => {
                rebuilt.tokens = count.info.or(rebuilt.tokens);
            }
            _ => {}
        }
    }
    rebuilt
}

/// Older files do not contain the history after a compaction; it is made here.
fn summarise(history: &mut History, message: &str) {
    let texts = summary::user_texts(history);
    let items: Vec<ResponseItem> = summary::compacted_history(&texts, message);
    history.replace(items);
}
