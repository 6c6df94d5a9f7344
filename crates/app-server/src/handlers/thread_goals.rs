//! `thread/goal/get`, `thread/goal/set`, `thread/goal/clear`: the goal of a thread.

use std::sync::Arc;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    ThreadGoal, ThreadGoalClearParams, ThreadGoalClearResponse, ThreadGoalGetParams,
    ThreadGoalGetResponse, ThreadGoalSetParams, ThreadGoalSetResponse, ThreadGoalStatus,
};
use codex_projection::{goal_cleared, goal_updated, wire_goal};
use codex_protocol::{ThreadId, Update};
use codex_rollout::LineKind;
use codex_thread_state::{GoalChange, GoalError, GoalStatus};
use codex_thread_store::{GOAL_UPDATED, ThreadRecord};
use futures::FutureExt as _;
use jiff::Timestamp;
use serde_json::json;

use super::call::{EarlyReply, RequestContext};
use super::stored::{record, stored_or_live};
use super::{archived, blocking, state_failed, store_loaded, thread_id};
use crate::failure::Failure;
use crate::server::AppServer;
use crate::thread::amend;

pub(super) async fn get(
    RequestContext { server, .. }: RequestContext,
    params: ThreadGoalGetParams,
) -> Result<ThreadGoalGetResponse, Failure> {
    let id = with_goals(&server, &params.thread_id).await?;
    let state = Arc::clone(server.state());
    blocking(move || {
        let goal = state.goal(id.as_str()).map_err(state_failed)?;
        Ok(ThreadGoalGetResponse {
            goal: goal.map(|goal| wire_goal(id.as_str(), goal)),
        })
    })
    .await
}

pub(super) async fn set(
    RequestContext { server, connection }: RequestContext,
    params: ThreadGoalSetParams,
) -> Result<EarlyReply<method::ThreadGoalSet>, Failure> {
    let id = with_goals(&server, &params.thread_id).await?;
    store_loaded(&server, &connection, &params.thread_id).await?;
    let change = GoalChange {
        objective: params.objective,
        status: params.status.map(engine_status),
        token_budget: match params.token_budget {
            Update::Leave => None,
            Update::Clear => Some(None),
            Update::Set(budget) => Some(Some(budget)),
        },
    };
    if let Some(loaded) = server.thread(id.as_str()) {
        let _ = loaded.call_now(|thread| thread.charge_goal_now(None)).await;
    }
    let (state, thread) = (Arc::clone(server.state()), id.to_string());
    let changed = blocking(move || state.change_goal(&thread, change).map_err(refused));
    let goal = wire_goal(id.as_str(), changed.await?);
    store_as_preview(&server, &id, &goal).await?;
    let response = ThreadGoalSetResponse { goal: goal.clone() };
    Ok(EarlyReply::sent_by(move |reply| async move {
        reply.accept(&response);
        server.broadcast(&goal_updated(goal, None));
        if let Some(thread) = server.thread(id.as_str()) {
            thread.send(|thread| thread.work_changed().boxed()).await;
        }
    }))
}

pub(super) async fn clear(
    RequestContext { server, .. }: RequestContext,
    params: ThreadGoalClearParams,
) -> Result<EarlyReply<method::ThreadGoalClear>, Failure> {
    let id = with_goals(&server, &params.thread_id).await?;
    let (state, thread) = (Arc::clone(server.state()), id.to_string());
    let cleared = blocking(move || state.clear_goal(&thread).map_err(state_failed)).await?;
    Ok(EarlyReply::then(
        ThreadGoalClearResponse { cleared },
        move || {
            if cleared {
                server.broadcast(&goal_cleared(id.as_str()));
            }
        },
    ))
}

/// Adds the goal to the file of a thread that has no preview, in the form that other engines read. The objective is its preview.
async fn store_as_preview(
    server: &Arc<AppServer>,
    id: &ThreadId,
    goal: &ThreadGoal,
) -> Result<(), Failure> {
    let has_none = |found: &ThreadRecord| found.facts.preview.is_none();
    let found = record(server, id).await?.filter(has_none);
    let Some(ThreadRecord { path, .. }) = found else {
        return Ok(());
    };
    let line = json!({ "type": GOAL_UPDATED, "threadId": id, "goal": goal });
    let (home, thread, file) = (
        server.host().store().home().to_owned(),
        id.clone(),
        path.clone(),
    );
    let written = blocking(move || {
        amend(&home, &thread, Some(file), |file| {
            codex_rollout::amend(file, Timestamp::now(), LineKind::EventMsg, &line)
        });
        Ok(())
    });
    written.await?;
    server.host().store().touched(&path);
    Ok(())
}

/// The id of a thread that can have a goal.
async fn with_goals(server: &Arc<AppServer>, id: &str) -> Result<ThreadId, Failure> {
    if !server.host().has_goals() {
        return Err(Failure::invalid("goals feature is disabled"));
    }
    let id = thread_id(id)?;
    match stored_or_live(server, &id).await? {
        (None, None) => Err(Failure::invalid(format!("thread not found: {id}"))),
        (Some(record), _) if record.archived => Err(archived(&id)),
        (None, Some(live)) if live.thread.ephemeral => Err(Failure::invalid(format!(
            "ephemeral thread does not support goals: {id}"
        ))),
        _ => Ok(id),
    }
}

fn refused(error: GoalError) -> Failure {
    match error {
        GoalError::State(error) => state_failed(error),
        refused => Failure::invalid(refused.to_string()),
    }
}

fn engine_status(status: ThreadGoalStatus) -> GoalStatus {
    match status {
        ThreadGoalStatus::Active => GoalStatus::Active,
        ThreadGoalStatus::Paused => GoalStatus::Paused,
        ThreadGoalStatus::Blocked => GoalStatus::Blocked,
        ThreadGoalStatus::UsageLimited => GoalStatus::UsageLimited,
        ThreadGoalStatus::BudgetLimited => GoalStatus::BudgetLimited,
        ThreadGoalStatus::Complete => GoalStatus::Complete,
    }
}
