//! The checklist that the model keeps of its work.

use serde::{Deserialize, Serialize};

/// The checklist, as the model last wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdatePlan {
    /// Why it changed.
    #[serde(default)]
    pub explanation: Option<String>,
    /// The steps.
    pub plan: Vec<PlanStep>,
}

/// A step of the checklist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// What is to be done.
    pub step: String,
    /// The status.
    pub status: StepStatus,
}

/// How far a step has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It was not begun.
    Pending,
    /// It is being done.
    InProgress,
    /// Completed.
    Completed,
}
