//! How far a thing got.

use serde::{Deserialize, Serialize};

/// A turn, an inference, a tool call, a terminal operation, a compaction request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStatus {
    Running,
    Completed,
    Failed,
    Cancelled,
    Aborted,
}

/// A rollout, or one thread of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RolloutStatus {
    Running,
    Completed,
    Failed,
    Aborted,
}

impl From<RolloutStatus> for ExecutionStatus {
    fn from(status: RolloutStatus) -> Self {
        match status {
            RolloutStatus::Running => Self::Running,
            RolloutStatus::Completed => Self::Completed,
            RolloutStatus::Failed => Self::Failed,
            RolloutStatus::Aborted => Self::Aborted,
        }
    }
}

/// A code cell, as the runtime sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellStatus {
    Starting,
    Running,
    Yielded,
    Completed,
    Failed,
    Terminated,
}

impl From<CellStatus> for ExecutionStatus {
    fn from(status: CellStatus) -> Self {
        match status {
            CellStatus::Starting | CellStatus::Running | CellStatus::Yielded => Self::Running,
            CellStatus::Completed => Self::Completed,
            CellStatus::Failed => Self::Failed,
            CellStatus::Terminated => Self::Cancelled,
        }
    }
}
