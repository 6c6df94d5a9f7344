//! Limits that an administrator set: asked again whenever settings change.

use std::fmt::Debug;

use codex_protocol::{AskForApproval, SandboxPolicy};

/// Says whether settings are allowed.
pub trait Limits: Debug + Send + Sync {
    /// Whether a thread may have these settings.
    ///
    /// # Errors
    /// It may not; a sentence that says why.
    fn check(&self, approval: AskForApproval, sandbox: &SandboxPolicy) -> Result<(), String>;
}
