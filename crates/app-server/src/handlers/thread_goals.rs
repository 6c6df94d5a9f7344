//! `thread/goal/get`, `thread/goal/set`, `thread/goal/clear`: what a thread works towards by itself.

use std::sync::Arc;

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    ThreadGoal, ThreadGoalClearParams, ThreadGoalClearResponse, ThreadGoalClearedNotification,
    ThreadGoalGetParams, ThreadGoalGetResponse, ThreadGoalSetParams, ThreadGoalSetResponse,
    ThreadGoalStatus, ThreadGoalUpdatedNotification,
};
use codex_protocol::{ThreadId, Update};
use codex_thread_state::{Goal, GoalChange, GoalError, GoalStatus};

use super::call::{Call, Reply};
use super::thread_read::stored_or_live;
use super::{blocking, state_failed, thread_id};
use crate::failure::Failure;
use crate::server::Server;

pub(super) async fn get(
    Call { server, .. }: Call,
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
    Call { server, .. }: Call,
    params: ThreadGoalSetParams,
) -> Result<Reply<method::ThreadGoalSet>, Failure> {
    let id = with_goals(&server, &params.thread_id).await?;
    let change = GoalChange {
        objective: params.objective,
        status: params.status.map(engine_status),
        token_budget: match params.token_budget {
            Update::Leave => None,
            Update::Clear => Some(None),
            Update::Set(budget) => Some(Some(budget)),
        },
    };
    let (state, thread) = (Arc::clone(server.state()), id.to_string());
    let changed = blocking(move || state.change_goal(&thread, change).map_err(refused));
    let goal = wire_goal(id.as_str(), changed.await?);
    let response = ThreadGoalSetResponse { goal: goal.clone() };
    Ok(Reply::by(move |reply| async move {
        reply.accept(&response);
        server.broadcast(&updated(goal, None));
        if let Some(thread) = server.thread(id.as_str()) {
            thread.goal_changed().await;
        }
    }))
}

pub(super) async fn clear(
    Call { server, .. }: Call,
    params: ThreadGoalClearParams,
) -> Result<Reply<method::ThreadGoalClear>, Failure> {
    let id = with_goals(&server, &params.thread_id).await?;
    let (state, thread) = (Arc::clone(server.state()), id.to_string());
    let cleared = blocking(move || state.clear_goal(&thread).map_err(state_failed)).await?;
    Ok(Reply::then(
        ThreadGoalClearResponse { cleared },
        move || {
            if cleared {
                server.broadcast(&goal_cleared(id.as_str()));
            }
        },
    ))
}

/// The id of a thread that can have a goal.
async fn with_goals(server: &Arc<Server>, id: &str) -> Result<ThreadId, Failure> {
    let id = thread_id(id)?;
    match stored_or_live(server, &id).await? {
        (None, None) => Err(Failure::invalid(format!("thread not found: {id}"))),
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

/// The notification that a goal changed, in a turn or by a request.
pub(crate) fn updated(goal: ThreadGoal, turn_id: Option<String>) -> ServerNotification {
    ServerNotification::ThreadGoalUpdated(ThreadGoalUpdatedNotification {
        thread_id: goal.thread_id.clone(),
        turn_id,
        goal,
    })
}

/// The notification that a thread has no goal.
pub(crate) fn goal_cleared(thread: &str) -> ServerNotification {
    let thread_id = thread.to_owned();
    ServerNotification::ThreadGoalCleared(ThreadGoalClearedNotification { thread_id })
}

/// A goal as the wire shows it.
pub(crate) fn wire_goal(thread: &str, goal: Goal) -> ThreadGoal {
    ThreadGoal {
        thread_id: thread.to_owned(),
        objective: goal.objective,
        status: wire_status(goal.status),
        token_budget: goal.token_budget,
        tokens_used: goal.tokens_used,
        time_used_seconds: goal.milliseconds_used / 1000,
        created_at: goal.created_at,
        updated_at: goal.updated_at,
    }
}

fn wire_status(status: GoalStatus) -> ThreadGoalStatus {
    match status {
        GoalStatus::Active => ThreadGoalStatus::Active,
        GoalStatus::Paused => ThreadGoalStatus::Paused,
        GoalStatus::Blocked => ThreadGoalStatus::Blocked,
        GoalStatus::UsageLimited => ThreadGoalStatus::UsageLimited,
        GoalStatus::BudgetLimited => ThreadGoalStatus::BudgetLimited,
        GoalStatus::Complete => ThreadGoalStatus::Complete,
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
