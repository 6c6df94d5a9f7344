//! What the tools for agents that have paths share: arguments, delivery of messages, loading, what clients are told.

use codex_protocol::{AgentPath, EventMsg, SubAgentActivityEvent, SubAgentActivityKind, ThreadId};
use codex_session_base::agents::{
    AgentMail, AgentRequest, Delivery, StoredAgent, TeamError, TeamSeat, find_agent_file,
    stored_members,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::agents::{read_stored, request};
use crate::arguments::arguments;
use crate::tool::{ToolContext, ToolFailure};

pub(super) fn refused(error: impl ToString) -> ToolFailure {
    ToolFailure::Model(error.to_string())
}

pub(super) fn target_property() -> Value {
    json!({
        "type": "string",
        "description": "The agent: its path, from `/root` on or from your own, or the id of its thread.",
    })
}

/// The text for an agent. The server of the model may encrypt it.
pub(super) fn message_property(description: &str) -> Value {
    json!({ "type": "string", "description": description, "encrypted": true })
}

pub(super) fn check_message(message: &str) -> Result<(), ToolFailure> {
    if message.trim().is_empty() {
        return Err(refused("Empty message can't be sent to an agent"));
    }
    Ok(())
}

/// The arguments of a call, and the place of the thread in its team. The agents of earlier processes are known then.
pub(super) async fn begin<T: DeserializeOwned>(
    context: &ToolContext,
) -> Result<(T, TeamSeat), ToolFailure> {
    let asked = arguments(context)?;
    let seat = context.services.seat.clone();
    let seat = seat.ok_or_else(|| refused("collab manager unavailable"))?;
    look_up_stored(context, &seat).await;
    Ok((asked, seat))
}

/// Looks up the agents that earlier processes have started in the tree, once.
async fn look_up_stored(context: &ToolContext, seat: &TeamSeat) {
    if !seat.team.has_unknown() {
        return;
    }
    let _one_at_a_time = seat.team.loading.lock().await;
    let Some(root) = seat.team.root_id().filter(|_| seat.team.has_unknown()) else {
        return;
    };
    let (home, root) = (
        context.session.config.services.threads_home.clone(),
        root.clone(),
    );
    let looking = tokio::task::spawn_blocking(move || {
        let file = find_agent_file(&home, &root);
        file.map_or_else(Vec::new, |file| stored_members(&home, &root, &file))
    });
    seat.team.add_stored(looking.await.unwrap_or_default());
}

/// Delivers a message, and loads its receiver first if that is needed.
pub(super) async fn deliver(
    context: &ToolContext,
    seat: &TeamSeat,
    mail: AgentMail,
) -> Result<ThreadId, ToolFailure> {
    for _ in 0..2 {
        match seat.team.deliver(mail.clone()).map_err(failed)? {
            Delivery::Done(thread) => return Ok(thread),
            Delivery::NeedsLoading(thread) => load(context, seat, &mail.recipient, &thread).await?,
        }
    }
    Err(failed(TeamError::Limit))
}

/// Loads an agent from its file.
async fn load(
    context: &ToolContext,
    seat: &TeamSeat,
    path: &AgentPath,
    thread: &ThreadId,
) -> Result<(), ToolFailure> {
    let _one_at_a_time = seat.team.loading.lock().await;
    seat.team.former_ended(path).await;
    let Some(reservation) = seat.team.reserve_stored(path).map_err(failed)? else {
        return Ok(());
    };
    let (home, wanted) = (
        context.session.config.services.threads_home.clone(),
        thread.clone(),
    );
    let searching = tokio::task::spawn_blocking(move || find_agent_file(&home, &wanted));
    let file = searching.await.ok().flatten();
    let file = file.ok_or_else(|| failed(TeamError::NotFound(path.0.clone())))?;
    let source = read_stored(file).await.map_err(refused)?;
    let (own, services) = (&context.session.config, &context.services);
    let mut config = own.for_agent(&context.settings, services.agent_depth);
    let preparing = tokio::task::spawn_blocking(move || {
        config.read_instructions();
        config
    });
    let config = preparing.await.map_err(refused)?;
    let agent = Box::new(StoredAgent {
        config,
        source,
        reservation,
    });
    let loaded = request(context, |reply| AgentRequest::LoadMember(agent, reply)).await?;
    loaded.map_err(refused)
}

fn failed(error: TeamError) -> ToolFailure {
    match error {
        TeamError::Limit => refused(format!("collab tool failed: {error}")),
        _ => refused(error),
    }
}

/// Emits what a call did with an agent.
pub(super) fn emit_activity(
    context: &ToolContext,
    agent: (ThreadId, AgentPath),
    kind: SubAgentActivityKind,
) {
    emit(context, activity(context, agent, kind));
}

/// What a call did with an agent.
pub(super) fn activity(
    context: &ToolContext,
    (agent_thread_id, agent_path): (ThreadId, AgentPath),
    kind: SubAgentActivityKind,
) -> SubAgentActivityEvent {
    SubAgentActivityEvent {
        event_id: context.call.id.clone(),
        occurred_at_ms: context.session.clock.now().as_millisecond(),
        agent_thread_id,
        agent_path,
        kind,
        closed: false,
        model: None,
        reasoning_effort: None,
    }
}

pub(super) fn emit(context: &ToolContext, activity: SubAgentActivityEvent) {
    context.emitter.emit(EventMsg::SubAgentActivity(activity));
}
