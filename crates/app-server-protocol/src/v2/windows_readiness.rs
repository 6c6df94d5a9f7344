//! Whether the sandbox on Windows is set up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reply to `windowsSandbox/readiness`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowsSandboxReadinessResponse {
    /// State that it is in.
    pub status: WindowsSandboxReadiness,
}

/// Whether the sandbox on Windows is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WindowsSandboxReadiness {
    /// Not configured.
    NotConfigured,
    /// Ready.
    Ready,
    /// Update required.
    UpdateRequired,
}
