//! `thread/context/read`: what the context of a loaded thread is made of.

use codex_app_server_protocol::v2::{
    ThreadContextPart, ThreadContextPartKind, ThreadContextReadParams, ThreadContextReadResponse,
    ThreadContextTool,
};
use codex_core::{ContextPartKind, ContextSnapshot, PartUse, ReadContext};

use super::call::RequestContext;
use super::{blocking, engine};
use crate::failure::Failure;

/// How many tools are listed.
const MAX_TOOLS: usize = 200;

pub(super) async fn read(
    RequestContext { server, .. }: RequestContext,
    params: ThreadContextReadParams,
) -> Result<ThreadContextReadResponse, Failure> {
    let engine = engine(&server, &params.thread_id).await?;
    let context = engine.call(ReadContext).await?;
    blocking(move || Ok(response(&context))).await
}

fn response(context: &ContextSnapshot) -> ThreadContextReadResponse {
    let used = context.parts();
    let all = used.tokens();
    let percent = |part: &PartUse| {
        let share = part.tokens as f64 / all.max(1) as f64;
        (share * 1000.0).round() / 10.0
    };
    let parts = used.parts.iter().map(|(kind, part)| ThreadContextPart {
        kind: wire_kind(*kind),
        count: part.count,
        tokens: part.tokens,
        cached_tokens: part.cached_tokens,
        percent: percent(part),
    });
    let tools = used.tools.iter().take(MAX_TOOLS);
    let tools = tools.map(|(name, part)| ThreadContextTool {
        name: name.clone(),
        tokens: part.tokens,
        cached_tokens: part.cached_tokens,
        percent: percent(part),
    });
    ThreadContextReadResponse {
        model: context.model.clone(),
        context_window: context.window,
        tokens: all,
        last_input_tokens: used.last_input_tokens,
        last_cached_tokens: used.last_cached_tokens,
        lacks_server_tools: context.lacks_server_tools,
        parts: parts.collect(),
        more_tools: used.tools.len().saturating_sub(MAX_TOOLS) as u64,
        tools: tools.collect(),
    }
}

pub(super) fn wire_kind(kind: ContextPartKind) -> ThreadContextPartKind {
    match kind {
        ContextPartKind::Instructions => ThreadContextPartKind::Instructions,
        ContextPartKind::Tools => ThreadContextPartKind::Tools,
        ContextPartKind::ProjectInstructions => ThreadContextPartKind::ProjectInstructions,
        ContextPartKind::Skills => ThreadContextPartKind::Skills,
        ContextPartKind::Memories => ThreadContextPartKind::Memories,
        ContextPartKind::Settings => ThreadContextPartKind::Settings,
        ContextPartKind::Pins => ThreadContextPartKind::Pins,
        ContextPartKind::Summaries => ThreadContextPartKind::Summaries,
        ContextPartKind::UserMessages => ThreadContextPartKind::UserMessages,
        ContextPartKind::AgentMessages => ThreadContextPartKind::AgentMessages,
        ContextPartKind::Reasoning => ThreadContextPartKind::Reasoning,
        ContextPartKind::ToolCalls => ThreadContextPartKind::ToolCalls,
        ContextPartKind::ToolOutputs => ThreadContextPartKind::ToolOutputs,
        ContextPartKind::Images => ThreadContextPartKind::Images,
    }
}
