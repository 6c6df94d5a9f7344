//! Checks values against requirements, and provides fallbacks.

use codex_protocol::{AskForApproval, SandboxPolicy, WebSearchMode};

use super::file::{McpServerIdentity, SandboxModeRequirement};
use super::in_force::{RequirementSource, Requirements};
use crate::features::Feature;
use crate::schema::{McpServer, McpTransport};

/// A value is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid value for `{field}`: `{value}` is not in the allowed set [{allowed}] (set by {origin})"
)]
pub struct RequirementViolation {
    pub field: &'static str,
    pub value: String,
    pub allowed: String,
    pub origin: RequirementSource,
}

fn check<T: std::fmt::Debug + PartialEq>(
    field: &'static str,
    value: &T,
    allowed: &[T],
    origin: &RequirementSource,
) -> Result<(), RequirementViolation> {
    if allowed.contains(value) {
        return Ok(());
    }
    let names: Vec<String> = allowed.iter().map(|value| format!("{value:?}")).collect();
    Err(RequirementViolation {
        field,
        value: format!("{value:?}"),
        allowed: names.join(", "),
        origin: origin.clone(),
    })
}

impl Requirements {
    /// Checks an approval policy.
    pub fn check_approval_policy(
        &self,
        policy: AskForApproval,
    ) -> Result<(), RequirementViolation> {
        match &self.approval_policies {
            Some(limit) => check("approval_policy", &policy, &limit.value, &limit.source),
            None => Ok(()),
        }
    }

    /// Whether a sandbox mode is allowed.
    pub fn check_sandbox_mode(
        &self,
        mode: SandboxModeRequirement,
    ) -> Result<(), RequirementViolation> {
        match &self.sandbox_modes {
            Some(limit) => check("sandbox_mode", &mode, &limit.value, &limit.source),
            None => Ok(()),
        }
    }

    /// Whether a sandbox policy is allowed.
    pub fn check_sandbox_policy(&self, policy: &SandboxPolicy) -> Result<(), RequirementViolation> {
        self.check_sandbox_mode(policy.into())
    }

    /// Whether a web search mode is allowed.
    pub fn check_web_search(&self, mode: WebSearchMode) -> Result<(), RequirementViolation> {
        let Some(limit) = &self.web_search_modes else {
            return Ok(());
        };
        let mut allowed = vec![WebSearchMode::Disabled];
        for mode in [WebSearchMode::Cached, WebSearchMode::Live] {
            if limit.value.contains(&mode) {
                allowed.push(mode);
            }
        }
        check("web_search_mode", &mode, &allowed, &limit.source)
    }

    /// The approval policy instead of one that is not allowed.
    pub(crate) fn approval_fallback(&self) -> AskForApproval {
        let limit = self.approval_policies.as_ref();
        let first = limit.and_then(|limit| limit.value.first());
        first.copied().unwrap_or_default()
    }

    /// The web search mode instead of one that is not allowed.
    pub(crate) fn web_search_fallback(&self) -> WebSearchMode {
        [WebSearchMode::Cached, WebSearchMode::Live]
            .into_iter()
            .find(|mode| self.check_web_search(*mode).is_ok())
            .unwrap_or(WebSearchMode::Disabled)
    }

    /// Whether an MCP server is allowed; if not, who says so.
    pub fn check_mcp_server(
        &self,
        name: &str,
        server: &McpServer,
    ) -> Result<(), RequirementSource> {
        let Some(limit) = &self.mcp_servers else {
            return Ok(());
        };
        let same = match (limit.value.get(name), &server.transport) {
            (Some(McpServerIdentity::Command(allowed)), McpTransport::Stdio { command, .. }) => {
                allowed == command
            }
            (Some(McpServerIdentity::Url(allowed)), McpTransport::Http { url, .. }) => {
                allowed == url
            }
            _ => false,
        };
        if same {
            Ok(())
        } else {
            Err(limit.source.clone())
        }
    }

    /// Whether switching a feature contradicts a pin. Keys of earlier releases count too.
    pub(crate) fn check_feature(
        &self,
        key: &str,
        enabled: bool,
    ) -> Result<(), RequirementViolation> {
        let (Some(feature), Some(pins)) = (Feature::parse(key), &self.features) else {
            return Ok(());
        };
        if pins.value.get(&feature).is_none_or(|pin| *pin == enabled) {
            return Ok(());
        }
        let allowed = pins.value.iter();
        let allowed = allowed.map(|(feature, enabled)| format!("{}={enabled}", feature.key()));
        Err(RequirementViolation {
            field: "features",
            value: format!("features.{key}={enabled}"),
            allowed: allowed.collect::<Vec<_>>().join(", "),
            origin: pins.source.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_limits_everything_is_allowed() {
        let none = Requirements::default();
        assert!(none.is_empty());
        assert_eq!(none.check_approval_policy(AskForApproval::Never), Ok(()));
        assert_eq!(
            none.check_sandbox_policy(&SandboxPolicy::DangerFullAccess),
            Ok(())
        );
        assert_eq!(none.check_web_search(WebSearchMode::Live), Ok(()));
    }

    #[test]
    fn violations_list_allowed_values() {
        let limits = Requirements::for_tests(
            "allowed_approval_policies = ['on-request', 'untrusted']\n\
             allowed_sandbox_modes = ['read-only', 'workspace-write']\n\
             allowed_web_search_modes = ['cached']\n\
             features.multi_agent = false",
        );
        let text = |result: Result<(), RequirementViolation>| result.unwrap_err().to_string();
        assert_eq!(
            text(limits.check_approval_policy(AskForApproval::Never)),
            "invalid value for `approval_policy`: `Never` is not in the allowed set \
             [OnRequest, UnlessTrusted] (set by test)",
        );
        assert_eq!(
            text(limits.check_sandbox_policy(&SandboxPolicy::DangerFullAccess)),
            "invalid value for `sandbox_mode`: `DangerFullAccess` is not in the allowed set \
             [ReadOnly, WorkspaceWrite] (set by test)",
        );
        assert_eq!(
            text(limits.check_web_search(WebSearchMode::Live)),
            "invalid value for `web_search_mode`: `Live` is not in the allowed set \
             [Disabled, Cached] (set by test)",
        );
        assert_eq!(
            limits
                .check_feature("collab", true)
                .unwrap_err()
                .to_string(),
            "invalid value for `features`: `features.collab=true` is not in the allowed set \
             [multi_agent=false] (set by test)",
        );
        assert_eq!(limits.check_feature("collab", false), Ok(()));
        assert_eq!(limits.check_feature("undo", true), Ok(()));
        assert_eq!(limits.approval_fallback(), AskForApproval::OnRequest);
        assert_eq!(limits.web_search_fallback(), WebSearchMode::Cached);
    }

    #[test]
    fn disabled_web_search_is_always_allowed() {
        let limits = Requirements::for_tests("allowed_web_search_modes = []");
        assert_eq!(limits.check_web_search(WebSearchMode::Disabled), Ok(()));
        assert_eq!(limits.web_search_fallback(), WebSearchMode::Disabled);
    }

    #[test]
    fn mcp_servers_are_compared_by_identity() {
        let limits = Requirements::for_tests("mcp_servers.a.identity.command = 'prog'");
        let server = |text: &str| toml::from_str::<McpServer>(text).unwrap();
        assert_eq!(
            limits.check_mcp_server("a", &server("command = 'prog'\nargs = ['x']")),
            Ok(())
        );
        assert!(
            limits
                .check_mcp_server("a", &server("command = 'other'"))
                .is_err()
        );
        assert!(
            limits
                .check_mcp_server("a", &server("url = 'prog'"))
                .is_err()
        );
        assert!(
            limits
                .check_mcp_server("b", &server("command = 'prog'"))
                .is_err()
        );
    }
}
