//! Making a history from the lines of a rollout: for resuming, forking and rolling back.

use codex_protocol::{
    EventMsg, ResponseItem, RolloutItem, TokenUsageInfo, TruncationPolicy, TurnContext,
};

use super::History;
use crate::context::summary;

/// What the lines of a rollout come to.
#[derive(Debug, Default)]
pub(crate) struct Rebuilt {
    pub(crate) history: History,
    /// The settings that the model was last told; none if it has to be told anew.
    pub(crate) reference: Option<TurnContext>,
    /// The model of the last turn.
    pub(crate) previous_model: Option<String>,
    pub(crate) tokens: Option<TokenUsageInfo>,
}

/// Replays the lines in order.
pub(crate) fn rebuild(items: &[RolloutItem], policy: TruncationPolicy) -> Rebuilt {
    let mut rebuilt = Rebuilt::default();
    // The settings of each user turn, so that taking turns back takes them back too.
    let mut contexts: Vec<Option<TurnContext>> = Vec::new();
    for item in items {
        match item {
            RolloutItem::ResponseItem(item) => {
                rebuilt.history.record(item.clone(), policy);
            }
            RolloutItem::TurnContext(context) => {
                rebuilt.previous_model = Some(context.model.clone());
                rebuilt.reference = Some((**context).clone());
            }
            RolloutItem::Compacted(compacted) => {
                match &compacted.replacement_history {
                    Some(items) => rebuilt.history.replace(items.iter().cloned()),
                    None => summarise(&mut rebuilt.history, &compacted.message),
                }
                rebuilt.reference = None;
            }
            RolloutItem::EventMsg(EventMsg::UserMessage(_)) => {
                contexts.push(rebuilt.reference.clone());
            }
            RolloutItem::EventMsg(EventMsg::ThreadRolledBack(back)) => {
                roll_back(&mut rebuilt, &mut contexts, back.num_turns);
            }
            RolloutItem::EventMsg(EventMsg::TokenCount(count)) => {
                rebuilt.tokens = count.info.or(rebuilt.tokens);
            }
            _ => {}
        }
    }
    rebuilt.history.close_calls();
    rebuilt
}

fn roll_back(rebuilt: &mut Rebuilt, contexts: &mut Vec<Option<TurnContext>>, turns: u32) {
    let turns = usize::try_from(turns).unwrap_or(usize::MAX);
    let back = rebuilt.history.roll_back(turns);
    contexts.truncate(contexts.len().saturating_sub(turns));
    rebuilt.reference = contexts.last().cloned().flatten();
    if back.lost_context {
        rebuilt.reference = None;
    }
    rebuilt.previous_model = rebuilt
        .reference
        .as_ref()
        .map(|context| context.model.clone());
}

/// What older files leave to the reader: the history after a compaction.
fn summarise(history: &mut History, message: &str) {
    let texts = summary::user_texts(history);
    let items: Vec<ResponseItem> = summary::compacted_history(&texts, message);
    history.replace(items);
}
