//! Limits of an administrator on the settings of a session.

use std::fmt::Debug;

use codex_protocol::{AskForApproval, SandboxPolicy};
use serde::{Deserialize, Serialize};

/// The values that an administrator allows; without a list, all. They are checked whenever settings change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdministratorLimits {
    pub approval_policies: Option<AllowedValues<AskForApproval>>,
    pub sandboxes: Option<AllowedValues<SandboxKind>>,
}

/// Allowed values, and where they are configured, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedValues<T> {
    pub values: Vec<T>,
    pub origin: String,
}

/// The kind of a sandbox policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxKind {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
    ExternalSandbox,
}

/// Settings that the administrator does not allow. The text says which and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotAllowed(pub String);

impl AdministratorLimits {
    /// Whether a thread may have these settings.
    ///
    /// # Errors
    /// They are not allowed.
    pub fn check(
        &self,
        approval: AskForApproval,
        sandbox: &SandboxPolicy,
    ) -> Result<(), NotAllowed> {
        check("approval_policy", approval, self.approval_policies.as_ref())?;
        check("sandbox_mode", sandbox.into(), self.sandboxes.as_ref())
    }
}

fn check<T: Copy + Debug + PartialEq>(
    field: &str,
    value: T,
    allowed: Option<&AllowedValues<T>>,
) -> Result<(), NotAllowed> {
    let Some(AllowedValues { values, origin }) =
        allowed.filter(|allowed| !allowed.values.contains(&value))
    else {
        return Ok(());
    };
    let names: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    let names = names.join(", ");
    Err(NotAllowed(format!(
        "invalid value for `{field}`: `{value:?}` is not in the allowed set [{names}] (set by {origin})"
    )))
}

impl From<&SandboxPolicy> for SandboxKind {
    fn from(policy: &SandboxPolicy) -> Self {
        match policy {
            SandboxPolicy::ReadOnly { .. } => Self::ReadOnly,
            SandboxPolicy::WorkspaceWrite { .. } => Self::WorkspaceWrite,
            SandboxPolicy::DangerFullAccess => Self::DangerFullAccess,
            SandboxPolicy::ExternalSandbox { .. } => Self::ExternalSandbox,
        }
    }
}
