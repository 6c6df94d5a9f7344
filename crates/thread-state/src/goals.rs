//! Goals: objectives that a thread pursues over several turns.

use rusqlite::{Connection, Row, named_params};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::database::{StateError, ThreadState, now, one};

/// The maximum length of an objective in characters.
const MAX_OBJECTIVE: usize = 4000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GoalStatus {
    /// The thread works on it.
    Active,
    /// It waits for the user.
    Paused,
    /// A turn failed.
    Blocked,
    /// The limits of the account are exhausted.
    UsageLimited,
    /// The token budget of the goal is exhausted.
    BudgetLimited,
    Complete,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    pub objective: String,
    pub status: GoalStatus,
    /// The maximum number of tokens.
    pub token_budget: Option<i64>,
    pub tokens_used: i64,
    pub milliseconds_used: i64,
    /// In Unix seconds.
    pub created_at: i64,
    /// In Unix seconds.
    pub updated_at: i64,
}

impl Goal {
    /// Whether the token budget is exhausted.
    #[must_use]
    pub fn is_over_budget(&self) -> bool {
        self.token_budget
            .is_some_and(|budget| self.tokens_used >= budget)
    }
}

/// A change of a goal. Absent members stay unchanged.
#[derive(Clone, Debug, Default)]
pub struct GoalChange {
    /// The new objective; required if there is no goal yet.
    pub objective: Option<String>,
    pub status: Option<GoalStatus>,
    /// The new budget; `Some(None)` removes it.
    pub token_budget: Option<Option<i64>>,
}

/// Why a goal was not changed.
#[derive(Debug, Error)]
pub enum GoalError {
    #[error("goal objective must not be empty")]
    EmptyObjective,
    #[error("goal objective must be at most {MAX_OBJECTIVE} characters")]
    LongObjective,
    /// The budget is not positive.
    #[error("goal budgets must be positive when provided")]
    Budget,
    /// The thread has no goal, and the change has no objective.
    #[error("cannot update goal for thread {0}: no goal exists")]
    NoGoal(String),
    #[error(transparent)]
    State(#[from] StateError),
}

const SELECT: &str = "SELECT objective, status, token_budget, tokens_used, milliseconds_used, created_at, \
     updated_at FROM goals WHERE thread = :thread";

fn read(row: &Row<'_>) -> rusqlite::Result<(Goal, String)> {
    let goal = Goal {
        objective: row.get("objective")?,
        status: GoalStatus::Active,
        token_budget: row.get("token_budget")?,
        tokens_used: row.get("tokens_used")?,
        milliseconds_used: row.get("milliseconds_used")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    };
    Ok((goal, row.get("status")?))
}

fn find(connection: &Connection, thread: &str) -> Result<Option<Goal>, StateError> {
    let found = one(
        connection,
        SELECT,
        named_params! { ":thread": thread },
        read,
    )?;
    let Some((mut goal, status)) = found else {
        return Ok(None);
    };
    goal.status = serde_json::from_str(&status)?;
    Ok(Some(goal))
}

fn save(connection: &Connection, thread: &str, goal: &Goal) -> Result<(), StateError> {
    connection.execute(
        "INSERT OR REPLACE INTO goals (thread, objective, status, token_budget, tokens_used, \
         milliseconds_used, created_at, updated_at) VALUES (:thread, :objective, :status, :budget, \
         :tokens, :milliseconds, :created, :updated)",
        named_params! {
            ":thread": thread, ":objective": goal.objective,
            ":status": serde_json::to_string(&goal.status)?, ":budget": goal.token_budget,
            ":tokens": goal.tokens_used, ":milliseconds": goal.milliseconds_used,
            ":created": goal.created_at, ":updated": goal.updated_at,
        },
    )?;
    Ok(())
}

impl ThreadState {
    /// The goal of a thread.
    ///
    /// # Errors
    pub fn goal(&self, thread: &str) -> Result<Option<Goal>, StateError> {
        self.query(None, |connection| find(connection, thread))
    }

    /// Gives the goal of a thread to another thread too, if there is one.
    ///
    /// # Errors
    /// The database cannot be read or written.
    pub fn copy_goal(&self, from: &str, to: &str) -> Result<(), GoalError> {
        let Some(goal) = self.goal(from)? else {
            return Ok(());
        };
        let change = GoalChange {
            objective: Some(goal.objective),
            status: Some(goal.status),
            token_budget: Some(goal.token_budget),
        };
        self.change_goal(to, change).map(drop)
    }

    /// Creates or changes the goal of a thread.
    ///
    /// # Errors
    /// The change is not valid, or the database cannot be written.
    pub fn change_goal(&self, thread: &str, change: GoalChange) -> Result<Goal, GoalError> {
        let objective = change.objective.map(|text| text.trim().to_owned());
        match objective.as_ref().map(|text| text.chars().count()) {
            Some(0) => return Err(GoalError::EmptyObjective),
            Some(length) if length > MAX_OBJECTIVE => return Err(GoalError::LongObjective),
            _ => {}
        }
        if matches!(change.token_budget, Some(Some(budget)) if budget <= 0) {
            return Err(GoalError::Budget);
        }
        if objective.is_none() && !self.has_goal(thread)? {
            return Err(GoalError::NoGoal(thread.to_owned()));
        }
        self.change(|transaction| {
            let at = now();
            let mut goal = match (find(transaction, thread)?, &objective) {
                (Some(goal), _) => goal,
                (None, Some(text)) => Goal {
                    objective: text.clone(),
                    status: GoalStatus::Active,
                    token_budget: None,
                    tokens_used: 0,
                    milliseconds_used: 0,
                    created_at: at,
                    updated_at: at,
                },
                (None, None) => return Err(GoalError::NoGoal(thread.to_owned())),
            };
            if let Some(text) = objective {
                goal.objective = text;
            }
            if let Some(budget) = change.token_budget {
                goal.token_budget = budget;
            }
            if let Some(status) = change.status {
                // Pausing does not lift a goal's exhausted limit.
                let stays =
                    goal.status == GoalStatus::BudgetLimited && status == GoalStatus::Paused;
                goal.status = if stays { goal.status } else { status };
            }
            goal.updated_at = at;
            save(transaction, thread, &goal)?;
            Ok(goal)
        })
    }

    fn has_goal(&self, thread: &str) -> Result<bool, StateError> {
        Ok(self.goal(thread)?.is_some())
    }

    /// Adds the usage of a turn to the goal of a thread, and sets its status if one is given.
    ///
    /// # Errors
    pub fn charge_goal(
        &self,
        thread: &str,
        tokens: i64,
        milliseconds: i64,
        status: Option<GoalStatus>,
    ) -> Result<Option<Goal>, StateError> {
        self.change(|transaction| {
            let Some(mut goal) = find(transaction, thread)? else {
                return Ok(None);
            };
            goal.tokens_used = goal.tokens_used.saturating_add(tokens.max(0));
            goal.milliseconds_used = goal.milliseconds_used.saturating_add(milliseconds.max(0));
            if let Some(status) = status {
                goal.status = status;
            }
            if goal.status == GoalStatus::Active && goal.is_over_budget() {
                goal.status = GoalStatus::BudgetLimited;
            }
            goal.updated_at = now();
            save(transaction, thread, &goal)?;
            Ok(Some(goal))
        })
    }

    /// Deletes the goal of a thread. False if it had none.
    ///
    /// # Errors
    pub fn clear_goal(&self, thread: &str) -> Result<bool, StateError> {
        if !self.has_goal(thread)? {
            return Ok(false);
        }
        self.change(|transaction| {
            let sql = "DELETE FROM goals WHERE thread = :thread";
            Ok(transaction.execute(sql, named_params! { ":thread": thread })? > 0)
        })
    }
}
