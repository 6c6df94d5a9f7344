//! Selects the events that are stored in a rollout.

use codex_protocol::{EventMsg, TurnItem};
use serde::{Deserialize, Serialize};

/// How many bytes of a command's output are kept.
const COMMAND_OUTPUT: usize = 10_000;

/// How many events are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersistedDetail {
    /// Only what the conversation consists of.
    #[default]
    Limited,
    /// Also how commands, patches and tool calls ended.
    Extended,
}

/// Whether an event is stored.
#[must_use]
pub fn is_persisted(event: &EventMsg, detail: PersistedDetail) -> bool {
    match event {
        EventMsg::UserMessage(_)
        | EventMsg::AgentMessage(_)
        | EventMsg::AgentReasoning(_)
        | EventMsg::AgentReasoningRawContent(_)
        | EventMsg::TokenCount(_)
        | EventMsg::ContextCompacted
        | EventMsg::InheritedHistoryEnds
        | EventMsg::EnteredReviewMode(_)
        | EventMsg::ExitedReviewMode(_)
        | EventMsg::ThreadRolledBack(_)
        | EventMsg::UndoCompleted(_)
        | EventMsg::TurnAborted(_)
        | EventMsg::TurnStarted(_)
        | EventMsg::TurnComplete(_)
        | EventMsg::ImageGenerationEnd(_)
        | EventMsg::SubAgentActivity(_) => true,
        EventMsg::ItemCompleted(completed) => matches!(
            completed.item,
            TurnItem::Plan(_)
                | TurnItem::FunctionCallOutput(_)
                | TurnItem::ContextCompaction(_)
                | TurnItem::HookPrompt(_)
        ),
        EventMsg::Error(_)
        | EventMsg::GuardianAssessment(_)
        | EventMsg::WebSearchEnd(_)
        | EventMsg::ExecCommandEnd(_)
        | EventMsg::PatchApplyEnd(_)
        | EventMsg::McpToolCallEnd(_)
        | EventMsg::ViewImageToolCall(_)
        | EventMsg::CollabAgentSpawnEnd(_)
        | EventMsg::CollabAgentInteractionEnd(_)
        | EventMsg::CollabWaitingEnd(_)
        | EventMsg::CollabCloseEnd(_)
        | EventMsg::CollabResumeEnd(_)
        | EventMsg::DynamicToolCallRequest(_)
        | EventMsg::DynamicToolCallResponse(_) => detail == PersistedDetail::Extended,
        _ => false,
    }
}

/// The reduced form of an event for storage; none if it is stored unchanged.
#[must_use]
pub fn reduced(event: &EventMsg) -> Option<EventMsg> {
    let EventMsg::ExecCommandEnd(end) = event else {
        return None;
    };
    let mut end = end.clone();
    end.stdout.clear();
    end.stderr.clear();
    end.formatted_output.clear();
    end.aggregated_output = middle_cut(&end.aggregated_output.as_str()).into();
    Some(EventMsg::ExecCommandEnd(end))
}

fn middle_cut(text: &str) -> String {
    if text.len() <= COMMAND_OUTPUT {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(COMMAND_OUTPUT / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - COMMAND_OUTPUT / 2)..];
    let removed = text[head.len()..text.len() - tail.len()].chars().count();
    format!("{head}…{removed} chars truncated…{tail}")
}
