//! Converts data that users attach to threads to the wire.

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{
    ThreadGoal, ThreadGoalClearedNotification, ThreadGoalStatus, ThreadGoalUpdatedNotification,
    ThreadReadState, ThreadSection, ThreadUnreadPosition,
};
use codex_thread_state::{Goal, GoalStatus, ReadState, Section, UnreadStart};

/// A section.
pub fn wire_section(section: Section) -> ThreadSection {
    let appearance = section.appearance;
    ThreadSection {
        id: section.id,
        name: section.name,
        // Written by this program. An unreadable value must not make a list fail.
        appearance: appearance.and_then(|text| serde_json::from_str(&text).ok()),
    }
}

/// A read state.
pub fn wire_read_state(state: ReadState) -> ThreadReadState {
    let position = |unread| match unread {
        UnreadStart::ThreadStart => ThreadUnreadPosition::ThreadStart,
        UnreadStart::Turn(turn_id) => ThreadUnreadPosition::Turn { turn_id },
    };
    ThreadReadState {
        first_unread: state.first_unread.map(position),
        revision: state.revision,
    }
}

/// The notification about a changed goal, in a turn or by a request.
pub fn goal_updated(goal: ThreadGoal, turn_id: Option<String>) -> ServerNotification {
    ServerNotification::ThreadGoalUpdated(ThreadGoalUpdatedNotification {
        thread_id: goal.thread_id.clone(),
        turn_id,
        goal,
    })
}

/// The notification that a thread has no goal.
pub fn goal_cleared(thread: &str) -> ServerNotification {
    let thread_id = thread.to_owned();
    ServerNotification::ThreadGoalCleared(ThreadGoalClearedNotification { thread_id })
}

/// A goal.
pub fn wire_goal(thread: &str, goal: Goal) -> ThreadGoal {
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
