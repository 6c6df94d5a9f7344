//! `wait_agent`: waits until an agent is done.

use std::collections::BTreeMap;
use std::time::Duration;

use codex_model_client::ToolSpec;
use codex_protocol::{
    AgentStatus, CollabAgentRef, CollabAgentStatusEntry, CollabWaitingBeginEvent,
    CollabWaitingEndEvent, EventMsg, ThreadId,
};
use codex_session_base::agents::{AgentHandle, AgentRequest};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use serde::Deserialize;
use serde_json::json;

use super::shared::{EndEvent, request, status_of, thread_id};
use crate::arguments::{arguments, function};
use crate::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

/// The default, shortest and longest wait in milliseconds. Shorter waits would amount to polling.
const DEFAULT_TIMEOUT_MS: i64 = 30_000;
const MIN_TIMEOUT_MS: i64 = 10_000;
const MAX_TIMEOUT_MS: i64 = 3_600_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitAgentTool;

#[derive(Deserialize)]
struct WaitAgentArguments {
    targets: Vec<String>,
    timeout_ms: Option<i64>,
}

type Statuses = BTreeMap<ThreadId, AgentStatus>;

impl Tool for WaitAgentTool {
    fn spec(&self) -> ToolSpec {
        function(
            "wait_agent",
            "Waits until one of these agents is done; answers the last words of those that are, nothing if \
             the time is over. Only when you cannot go on without them: you are told anyway.",
            json!({
                "targets": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "The ids of the agents.",
                },
                "timeout_ms": {
                    "type": "number",
                    "description": "10000 to 3600000. Default: 30000. Rather minutes than again and again.",
                },
            }),
            &["targets"],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { wait(&context).await })
    }
}

async fn wait(context: &ToolContext) -> ToolResult {
    let refuse = |text: &str| Err(ToolFailure::Model(text.to_owned()));
    let asked: WaitAgentArguments = arguments(context)?;
    if asked.targets.is_empty() {
        return refuse("agent ids must be non-empty");
    }
    let ids: Result<Vec<_>, _> = asked.targets.iter().map(|id| thread_id(id)).collect();
    let ids = ids?;
    let timeout = asked.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    if timeout <= 0 {
        return refuse("timeout_ms must be greater than zero");
    }
    let agents = find_all(context, &ids).await?;
    let sender_thread_id = context.session.emitter.thread().clone();
    let begin = EventMsg::CollabWaitingBegin(CollabWaitingBeginEvent {
        sender_thread_id: sender_thread_id.clone(),
        receiver_thread_ids: ids.clone(),
        receiver_agents: agents.values().flatten().map(reference).collect(),
        call_id: context.call.id.clone(),
    });
    let end = |statuses: Statuses| {
        EventMsg::CollabWaitingEnd(CollabWaitingEndEvent {
            sender_thread_id: sender_thread_id.clone(),
            call_id: context.call.id.clone(),
            agent_statuses: entries(&agents, &statuses),
            statuses,
        })
    };
    let end_event = EndEvent::begin(context, begin, end(Statuses::new()));
    let timeout = timeout.clamp(MIN_TIMEOUT_MS, MAX_TIMEOUT_MS).unsigned_abs();
    let statuses = until_one_done(context, &ids, &agents, Duration::from_millis(timeout)).await?;
    end_event.end(end(statuses.clone()));
    let output = json!({ "status": statuses, "timed_out": statuses.is_empty() });
    text(output.to_string())
}

type Agents = BTreeMap<ThreadId, Option<AgentHandle>>;

/// Finds these agents. Those that are done have been reported to the model when this returns.
async fn find_all(context: &ToolContext, ids: &[ThreadId]) -> Result<Agents, ToolFailure> {
    let found = request(context, |reply| AgentRequest::Find(ids.to_vec(), reply)).await?;
    Ok(ids.iter().cloned().zip(found).collect())
}

/// Waits until one agent is done, and returns the status of all that are; empty after the timeout.
async fn until_one_done(
    context: &ToolContext,
    ids: &[ThreadId],
    agents: &Agents,
    timeout: Duration,
) -> Result<Statuses, ToolFailure> {
    let mut done = done_of(agents);
    if !done.is_empty() {
        return Ok(done);
    }
    let mut waiting: FuturesUnordered<_> = agents
        .values()
        .flatten()
        .map(|agent| {
            let mut status = agent.status.clone();
            let id = agent.thread.id().clone();
            async move {
                let done = status.wait_for(AgentStatus::is_final).await;
                (id, done.map_or(AgentStatus::Shutdown, |done| done.clone()))
            }
        })
        .collect();
    let first = tokio::select! {
        first = waiting.next() => first,
        () = context.session.clock.sleep(timeout) => None,
    };
    drop(waiting);
    if let Some((id, status)) = first {
        done = done_of(&find_all(context, ids).await?);
        done.insert(id, status);
    }
    Ok(done)
}

fn done_of(agents: &Agents) -> Statuses {
    let statuses = agents
        .iter()
        .map(|(id, agent)| (id.clone(), status_of(agent.as_ref())));
    statuses.filter(|(_, status)| status.is_final()).collect()
}

fn reference(agent: &AgentHandle) -> CollabAgentRef {
    CollabAgentRef {
        thread_id: agent.thread.id().clone(),
        agent_nickname: agent.nickname.clone(),
        agent_role: agent.role.clone(),
    }
}

fn entries(agents: &Agents, statuses: &Statuses) -> Vec<CollabAgentStatusEntry> {
    let entry = |(id, status): (&ThreadId, &AgentStatus)| {
        let agent = agents.get(id)?.as_ref()?;
        Some(CollabAgentStatusEntry {
            thread_id: id.clone(),
            agent_nickname: agent.nickname.clone(),
            agent_role: agent.role.clone(),
            status: status.clone(),
        })
    };
    statuses.iter().filter_map(entry).collect()
}
