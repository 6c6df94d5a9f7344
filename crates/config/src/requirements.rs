//! Requirements: limits on settings, set by an administrator.
//!
//! Several sources may set requirements. Each field is taken from the first source that has it; fields are not merged.
//! The exception are apps, which any source can disable.

mod check;
mod error;
mod file;
mod in_force;
mod load;
mod rules;

pub use check::RequirementViolation;
pub use error::RequirementsError;
pub use file::{
    McpServerIdentity, NetworkRequirements, Residency, SandboxModeRequirement, SecretsRequirements,
    SocketDecision,
};
pub use in_force::{RequirementSource, Requirements, Sourced};
pub(crate) use load::load;
pub use rules::{PatternToken, PrefixRule, PrefixRuleError, RuleDecision, RulesError};
