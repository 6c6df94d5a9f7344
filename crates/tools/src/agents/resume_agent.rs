//! `resume_agent`: loads a closed agent again, with its history.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use codex_model_client::ToolSpec;
use codex_protocol::{
    AgentStatus, CollabResumeBeginEvent, CollabResumeEndEvent, EventMsg, SessionSource,
    SubAgentSource, ThreadId,
};
use codex_rollout::scan;
use codex_session_base::agents::{
    AgentHandle, AgentRequest, AgentSource, OpenAgents, ResumedAgent, find_agent_file,
};
use codex_session_base::config::SessionConfig;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::shared::{
    EndEvent, find, names_of, not_found, read_agent, read_stored, request, status_of, thread_id,
};
use crate::arguments::{arguments, function};
use crate::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

#[derive(Clone, Copy, Debug)]
pub(crate) struct ResumeAgentTool;

#[derive(Deserialize)]
struct ResumeAgentArguments {
    id: String,
}

impl Tool for ResumeAgentTool {
    fn spec(&self) -> ToolSpec {
        function(
            "resume_agent",
            "Loads a closed agent of yours again, to tell it something more.",
            json!({ "id": { "type": "string", "description": "The id of the agent." } }),
            &["id"],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { resume(&context).await })
    }
}

async fn resume(context: &ToolContext) -> ToolResult {
    let ResumeAgentArguments { id } = arguments(context)?;
    let id = thread_id(&id)?;
    let open = find(context, &id).await?;
    let (receiver_agent_nickname, receiver_agent_role) = names_of(open.as_ref());
    let begin = CollabResumeBeginEvent {
        call_id: context.call.id.clone(),
        sender_thread_id: context.session.emitter.thread().clone(),
        receiver_thread_id: id.clone(),
        receiver_agent_nickname,
        receiver_agent_role,
    };
    let end = |agent: Option<&AgentHandle>| {
        let (receiver_agent_nickname, receiver_agent_role) = names_of(agent);
        EventMsg::CollabResumeEnd(CollabResumeEndEvent {
            call_id: begin.call_id.clone(),
            sender_thread_id: begin.sender_thread_id.clone(),
            receiver_thread_id: id.clone(),
            receiver_agent_nickname,
            receiver_agent_role,
            status: status_of(agent),
        })
    };
    let end_event = EndEvent::begin(
        context,
        EventMsg::CollabResumeBegin(begin.clone()),
        end(None),
    );
    let agent = match open {
        Some(agent) => agent,
        None => load(context, &id).await?,
    };
    let status: AgentStatus = agent.status_now();
    end_event.end(end(Some(&agent)));
    text(json!({ "status": status }).to_string())
}

async fn load(context: &ToolContext, id: &ThreadId) -> Result<AgentHandle, ToolFailure> {
    let (home, wanted) = (
        context.session.config.services.threads_home.clone(),
        id.clone(),
    );
    let searching = tokio::task::spawn_blocking(move || find_agent_file(&home, &wanted));
    let path = searching
        .await
        .ok()
        .flatten()
        .ok_or_else(|| not_found(id))?;
    let failed = |reason: String| ToolFailure::Model(format!("collab tool failed: {reason}"));
    let stored = read_stored(path).await.map_err(failed)?;
    if !is_agent_of(context.session.emitter.thread(), &stored) {
        return Err(not_found(id));
    }
    let mut config = context
        .session
        .config
        .for_agent(&context.settings, context.services.agent_depth);
    let depth = context.services.agent_depth;
    let preparing = tokio::task::spawn_blocking(move || {
        config.read_instructions();
        with_open_agents(config, stored, depth.saturating_add(1))
    });
    let agent = preparing.await.map_err(|error| failed(error.to_string()))?;
    let loaded = request(context, |reply| {
        AgentRequest::Resume(Box::new(agent), reply)
    })
    .await?;
    loaded.map_err(|error| failed(error.to_string()))
}

/// The agent with the agents of its own that it had not closed, and theirs, as deep as agents may be. `depth` is its own.
/// What cannot be read is left out. Blocks on the file system.
fn with_open_agents(config: SessionConfig, source: AgentSource, depth: i32) -> ResumedAgent {
    let mut agents = Vec::new();
    let mut below = config.clone();
    below.options.agents =
        (below.options.agents).filter(|agents| depth.saturating_add(1) < agents.max_depth);
    if config.options.agents.is_some() {
        let own = &source.thread.meta.id;
        for file in open_agents(&config.services.threads_home, &source.thread.path) {
            if let Ok(stored) = read_agent(&file)
                && is_agent_of(own, &stored)
            {
                agents.push(with_open_agents(
                    below.clone(),
                    stored,
                    depth.saturating_add(1),
                ));
            }
        }
    }
    ResumedAgent {
        config,
        source,
        agents,
    }
}

/// The files of the agents that a stored thread has not closed.
fn open_agents(home: &Path, path: &Path) -> Vec<PathBuf> {
    let mut agents = OpenAgents::default();
    // Only calls matter, and most lines are none.
    let _ = scan(path, |line| {
        if let Some((_, Some(payload))) = line.kind()
            && matches!(payload.as_ref(), "function_call" | "function_call_output")
            && let Some(line) = line.read()
        {
            agents.take(&line.item);
        }
        ControlFlow::Continue(())
    });
    let ids = agents.into_ids().into_iter();
    ids.filter_map(|id| find_agent_file(home, &id)).collect()
}

/// Whether this thread started the agent. It has no access to others.
fn is_agent_of(own: &ThreadId, stored: &AgentSource) -> bool {
    matches!(
        &stored.thread.meta.source,
        SessionSource::SubAgent(SubAgentSource::ThreadSpawn { parent_thread_id, .. })
            if parent_thread_id == own
    )
}
