//! Which events are kept in a rollout.

use codex_protocol::{EventMsg, TurnItem};

/// Bytes of a command's output that are kept.
const COMMAND_OUTPUT: usize = 10_000;

/// How much of what happens is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// What a conversation is made of.
    #[default]
    Limited,
    /// Also how commands, patches and tools ended.
    Extended,
}

/// Whether an event becomes a line.
#[must_use]
pub fn is_persisted(event: &EventMsg, detail: Detail) -> bool {
    match event {
        EventMsg::UserMessage(_)
        | EventMsg::AgentMessage(_)
        | EventMsg::AgentReasoning(_)
        | EventMsg::AgentReasoningRawContent(_)
        | EventMsg::TokenCount(_)
        | EventMsg::ContextCompacted
        | EventMsg::EnteredReviewMode(_)
        | EventMsg::ExitedReviewMode(_)
        | EventMsg::ThreadRolledBack(_)
        | EventMsg::UndoCompleted(_)
        | EventMsg::TurnAborted(_)
        | EventMsg::TurnStarted(_)
        | EventMsg::TurnComplete(_)
        | EventMsg::ImageGenerationEnd(_) => true,
        EventMsg::ItemCompleted(completed) => matches!(
            completed.item,
            TurnItem::Plan(_) | TurnItem::FunctionCallOutput(_)
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
        | EventMsg::DynamicToolCallResponse(_) => detail == Detail::Extended,
        _ => false,
    }
}

/// The event as it is kept, where that is less than what was sent.
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
