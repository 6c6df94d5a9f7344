//! Converts limits and use to the wire and back.

use codex_app_server_protocol::v2;
use codex_protocol::{self as v1, Cost};

/// A limit that is no amount of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`maxCost` must not be negative")]
pub struct InvalidCost;

pub fn engine_limits(limits: &v2::UsageLimits) -> Result<v1::UsageLimits, InvalidCost> {
    let max_cost = limits
        .max_cost
        .map(|dollars| Cost::of_dollars(dollars).ok_or(InvalidCost));
    Ok(v1::UsageLimits {
        max_tokens: limits.max_tokens,
        max_requests: limits.max_requests,
        max_seconds: limits.max_seconds,
        max_cost: max_cost.transpose()?,
    })
}

pub fn engine_thread_limits(limits: &v2::ThreadLimits) -> Result<v1::ThreadLimits, InvalidCost> {
    let own = v2::UsageLimits {
        max_tokens: limits.max_tokens,
        max_requests: limits.max_requests,
        max_seconds: limits.max_seconds,
        max_cost: limits.max_cost,
    };
    Ok(v1::ThreadLimits {
        turn: engine_limits(&limits.turn.unwrap_or_default())?,
        thread: engine_limits(&own)?,
        tree: engine_limits(&limits.tree.unwrap_or_default())?,
    })
}

fn wire_usage_limits(limits: &v1::UsageLimits) -> v2::UsageLimits {
    v2::UsageLimits {
        max_tokens: limits.max_tokens,
        max_requests: limits.max_requests,
        max_seconds: limits.max_seconds,
        max_cost: limits.max_cost.map(Cost::dollars),
    }
}

/// None if nothing is limited.
pub fn wire_thread_limits(limits: &v1::ThreadLimits) -> Option<v2::ThreadLimits> {
    if limits.is_empty() {
        return None;
    }
    let some = |limits: &v1::UsageLimits| (!limits.is_empty()).then(|| wire_usage_limits(limits));
    let own = wire_usage_limits(&limits.thread);
    Some(v2::ThreadLimits {
        max_tokens: own.max_tokens,
        max_requests: own.max_requests,
        max_seconds: own.max_seconds,
        max_cost: own.max_cost,
        turn: some(&limits.turn),
        tree: some(&limits.tree),
    })
}

pub(crate) fn wire_exceeded(exceeded: v1::ExceededLimit) -> v2::ExceededLimit {
    v2::ExceededLimit {
        scope: exceeded.scope,
        limit: match exceeded.limit {
            v1::LimitKind::MaxTokens => v2::LimitKind::MaxTokens,
            v1::LimitKind::MaxRequests => v2::LimitKind::MaxRequests,
            v1::LimitKind::MaxSeconds => v2::LimitKind::MaxSeconds,
            v1::LimitKind::MaxCost => v2::LimitKind::MaxCost,
        },
    }
}

/// Numbers of tokens.
pub(crate) fn wire_tokens(usage: &v1::TokenUsage) -> v2::TokenUsageBreakdown {
    v2::TokenUsageBreakdown {
        total_tokens: usage.total_tokens,
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage.cached_input_tokens,
        cache_write_input_tokens: Some(usage.cache_write_input_tokens),
        output_tokens: usage.output_tokens,
        reasoning_output_tokens: usage.reasoning_output_tokens,
    }
}

pub(crate) fn wire_turn_usage(usage: &v1::TurnUsage) -> v2::TurnUsage {
    let agent = |agent: &v1::AgentUsage| v2::AgentUsage {
        thread_id: agent.thread_id.to_string(),
        requests: agent.requests,
        tokens: wire_tokens(&agent.tokens),
        cost: agent.cost.map(Cost::dollars),
    };
    let tool = |tool: &v1::ToolUsage| v2::ToolUsage {
        tool: tool.tool.clone(),
        calls: tool.calls,
        failed: tool.failed,
        duration_ms: tool.duration_ms,
        output_tokens: tool.output_tokens,
    };
    v2::TurnUsage {
        requests: usage.requests,
        tokens: wire_tokens(&usage.tokens),
        cost: usage.cost.map(Cost::dollars),
        agents: usage.agents.iter().map(agent).collect(),
        tools: usage.tools.iter().map(tool).collect(),
    }
}
