//! The tools for the goal of a thread: the model can read, create and complete it.

use std::sync::{Arc, Weak};

use codex_core::{HostCall, HostToolError, HostTools};
use codex_projection::{goal_updated, wire_goal};
use codex_protocol::DynamicToolFunction;
use codex_thread_state::{Goal, GoalChange, GoalStatus};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::server::AppServer;

const GET: &str = "get_goal";
const CREATE_TOOL: &str = "create_goal";
const UPDATE: &str = "update_goal";

/// The tools of a thread.
#[derive(Debug)]
pub(crate) struct GoalTools {
    server: Weak<AppServer>,
    are_offered: bool,
}

impl GoalTools {
    pub(crate) fn new(server: &Arc<AppServer>, are_offered: bool) -> Self {
        Self {
            server: Arc::downgrade(server),
            are_offered,
        }
    }
}

impl HostTools for GoalTools {
    fn functions(&self) -> Vec<DynamicToolFunction> {
        vec![
            function(
                GET,
                "Reads the goal of this thread, what was used for it and what is left.",
                json!({}),
                &[],
            ),
            function(
                CREATE_TOOL,
                "Sets a goal that this thread works towards by itself, turn after turn. Only when the user asks \
                 for one, and only while there is no unfinished goal.",
                json!({
                    "objective": { "type": "string", "description": "What is to be reached." },
                    "token_budget": { "type": "integer", "description": "Most tokens to use for it." },
                }),
                &["objective"],
            ),
            function(
                UPDATE,
                "Ends or holds the goal of this thread: `complete` once it is reached and checked, `blocked` if \
                 it cannot go on without the user, `paused` if the user wants that.",
                json!({ "status": { "type": "string", "enum": ["complete", "blocked", "paused"] } }),
                &["status"],
            ),
        ]
    }

    fn are_offered(&self) -> bool {
        self.are_offered
    }

    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<String, HostToolError>> {
        let server = self.server.upgrade();
        Box::pin(async move {
            let server = server.ok_or_else(|| failed("the server has ended"))?;
            let asked = Asked::read(&call.name, call.arguments)?;
            if let Some(thread) = server.thread(&call.thread) {
                let turn = Some(call.turn.clone());
                let _ = thread.call_now(|it| it.charge_goal_now(turn)).await;
            }
            let (thread, turn) = (call.thread, call.turn);
            let called =
                tokio::task::spawn_blocking(move || carry_out(&server, &thread, turn, asked));
            called.await.map_err(failed)?
        })
    }
}

fn failed(reason: impl ToString) -> HostToolError {
    HostToolError(reason.to_string())
}

fn function(
    name: &str,
    description: &str,
    properties: Value,
    required: &[&str],
) -> DynamicToolFunction {
    DynamicToolFunction {
        namespace: None,
        kind: None,
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
        defer_loading: false,
    }
}

#[derive(Deserialize)]
struct CreateArguments {
    objective: String,
    token_budget: Option<i64>,
}

#[derive(Deserialize)]
struct UpdateArguments {
    status: GoalStatus,
}

/// What a call asks for.
enum Asked {
    Goal,
    NewGoal(GoalChange),
    Change(GoalChange),
}

impl Asked {
    fn read(tool: &str, arguments: Value) -> Result<Self, HostToolError> {
        match tool {
            CREATE_TOOL => {
                let wanted = CreateArguments::deserialize(arguments).map_err(failed)?;
                Ok(Self::NewGoal(GoalChange {
                    objective: Some(wanted.objective),
                    status: Some(GoalStatus::Active),
                    token_budget: wanted.token_budget.map(Some),
                }))
            }
            UPDATE => {
                let read = UpdateArguments::deserialize(arguments);
                let status = read.map_err(failed)?.status;
                let is_allowed = matches!(
                    status,
                    GoalStatus::Complete | GoalStatus::Blocked | GoalStatus::Paused
                );
                if !is_allowed {
                    let refusal = "update_goal takes the statuses complete, blocked and paused.";
                    return Err(failed(refusal));
                }
                Ok(Self::Change(GoalChange {
                    status: Some(status),
                    ..GoalChange::default()
                }))
            }
            _ => Ok(Self::Goal),
        }
    }
}

fn carry_out(
    server: &AppServer,
    thread: &str,
    turn: String,
    asked: Asked,
) -> Result<String, HostToolError> {
    let state = server.state();
    let current = state.goal(thread).map_err(failed)?;
    let change = match asked {
        Asked::Goal => return Ok(output(thread, current)),
        Asked::NewGoal(_) if current.is_some_and(|goal| goal.status != GoalStatus::Complete) => {
            let refusal = "This thread has an unfinished goal. End it with update_goal first.";
            return Err(failed(refusal));
        }
        Asked::NewGoal(change) | Asked::Change(change) => change,
    };
    let goal = state.change_goal(thread, change).map_err(failed)?;
    let shown = wire_goal(thread, goal.clone());
    server.broadcast(&goal_updated(shown, Some(turn)));
    Ok(output(thread, Some(goal)))
}

fn output(thread: &str, goal: Option<Goal>) -> String {
    let remaining = goal.as_ref().and_then(|goal| {
        let budget = goal.token_budget?;
        Some((budget - goal.tokens_used).max(0))
    });
    let goal = goal.map(|goal| wire_goal(thread, goal));
    json!({ "goal": goal, "remainingTokens": remaining, "completionBudgetReport": null })
        .to_string()
}
