//! `resume_agent`: loads a closed agent again, with its history.

use codex_model_client::ToolSpec;
use codex_protocol::{
    AgentStatus, CollabResumeBeginEvent, CollabResumeEndEvent, EventMsg, SessionSource,
    SubAgentSource, ThreadId,
};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::{EndEvent, find, names_of, not_found, read_stored, request, status_of, thread_id};
use crate::agents::{AgentHandle, AgentRequest, AgentSource, ResumedAgent, config_of_agent};
use crate::tools::arguments::{arguments, function};
use crate::tools::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

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
            "Loads an agent of yours again that was closed, so that you can tell it something more.",
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
    let (home, wanted) = (context.session.config.home.clone(), id.clone());
    let searching = tokio::task::spawn_blocking(move || {
        codex_rollout::find(&home, &wanted).or_else(|| codex_rollout::find_archived(&home, &wanted))
    });
    let path = searching
        .await
        .ok()
        .flatten()
        .ok_or_else(|| not_found(id))?;
    let failed = |reason: String| ToolFailure::Model(format!("collab tool failed: {reason}"));
    let stored = read_stored(path).await.map_err(failed)?;
    if !is_own(context, &stored) {
        return Err(not_found(id));
    }
    let mut config = config_of_agent(
        &context.session.config,
        &context.settings,
        context.services.agent_depth,
    );
    let preparing = tokio::task::spawn_blocking(move || {
        config.read_instructions();
        config
    });
    let config = preparing.await.map_err(|error| failed(error.to_string()))?;
    let agent = ResumedAgent {
        config,
        source: stored,
    };
    let loaded = request(context, |reply| {
        AgentRequest::Resume(Box::new(agent), reply)
    })
    .await?;
    loaded.map_err(failed)
}

/// Whether this thread started the agent. It has no access to others.
fn is_own(context: &ToolContext, stored: &AgentSource) -> bool {
    let own = context.session.emitter.thread();
    matches!(
        &stored.thread.meta.source,
        SessionSource::SubAgent(SubAgentSource::ThreadSpawn { parent_thread_id, .. })
            if parent_thread_id == own
    )
}
