//! `[profiles.<name>]`: named sets of settings, of which one can be chosen.

use std::collections::BTreeMap;
use std::path::PathBuf;

use codex_protocol::{
    ApprovalsReviewer, AskForApproval, Personality, ReasoningEffort, ReasoningSummary, ServiceTier,
    Verbosity, WebSearchMode,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SandboxMode, SwitchFile, ToolsFile, WindowsFile};

/// One profile. Its keys have the same meaning as at the top level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProfileFile {
    /// As at the top level.
    pub model: Option<String>,
    /// As at the top level.
    pub model_fallbacks: Option<Vec<String>>,
    /// As at the top level.
    pub usage_limit_wait_seconds: Option<u64>,
    /// As at the top level.
    pub service_tier: Option<ServiceTier>,
    /// As at the top level.
    pub model_provider: Option<String>,
    /// As at the top level.
    pub approval_policy: Option<AskForApproval>,
    /// As at the top level.
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// As at the top level.
    pub sandbox_mode: Option<SandboxMode>,
    /// As at the top level.
    pub model_reasoning_effort: Option<ReasoningEffort>,
    /// As at the top level.
    pub plan_mode_reasoning_effort: Option<ReasoningEffort>,
    /// As at the top level.
    pub model_reasoning_summary: Option<ReasoningSummary>,
    /// As at the top level.
    pub model_verbosity: Option<Verbosity>,
    /// As at the top level.
    pub model_catalog_json: Option<PathBuf>,
    /// As at the top level.
    pub personality: Option<Personality>,
    /// As at the top level.
    pub chatgpt_base_url: Option<String>,
    /// As at the top level.
    pub model_instructions_file: Option<PathBuf>,
    /// As at the top level.
    pub js_repl_node_path: Option<PathBuf>,
    /// As at the top level.
    pub js_repl_node_module_dirs: Option<Vec<PathBuf>>,
    /// As at the top level.
    pub zsh_path: Option<PathBuf>,
    /// As at the top level.
    pub experimental_instructions_file: Option<PathBuf>,
    /// As at the top level.
    pub experimental_compact_prompt_file: Option<PathBuf>,
    /// An older form of `features.apply_patch_freeform`.
    pub include_apply_patch_tool: Option<bool>,
    /// As at the top level.
    pub experimental_use_unified_exec_tool: Option<bool>,
    /// As at the top level.
    pub experimental_use_freeform_apply_patch: Option<bool>,
    /// Accepted, without effect.
    pub tools_view_image: Option<bool>,
    /// As at the top level.
    pub tools: Option<ToolsFile>,
    /// As at the top level.
    pub web_search: Option<WebSearchMode>,
    /// As at the top level.
    pub analytics: Option<SwitchFile>,
    /// As at the top level.
    pub windows: Option<WindowsFile>,
    /// As at the top level.
    #[serde(deserialize_with = "super::features::switches")]
    #[schemars(with = "Option<super::features::FeatureSwitches>")]
    pub features: Option<BTreeMap<String, bool>>,
    /// As at the top level.
    pub oss_provider: Option<String>,
}

/// The keys of a profile that override the top level. Feature switches are not included: they are merged in their own
/// order.
pub(crate) const PROFILE_KEYS: &[&str] = &[
    "analytics",
    "approval_policy",
    "approvals_reviewer",
    "chatgpt_base_url",
    "experimental_compact_prompt_file",
    "experimental_instructions_file",
    "js_repl_node_module_dirs",
    "js_repl_node_path",
    "model",
    "model_catalog_json",
    "model_fallbacks",
    "model_instructions_file",
    "model_provider",
    "model_reasoning_effort",
    "model_reasoning_summary",
    "model_verbosity",
    "oss_provider",
    "personality",
    "plan_mode_reasoning_effort",
    "sandbox_mode",
    "service_tier",
    "tools",
    "usage_limit_wait_seconds",
    "web_search",
    "windows",
    "zsh_path",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_but_the_switches_settles_something() {
        let form = serde_json::to_value(ProfileFile::default()).unwrap();
        let switches = [
            "experimental_use_freeform_apply_patch",
            "experimental_use_unified_exec_tool",
            "features",
            "include_apply_patch_tool",
            "tools_view_image",
        ];
        let mut keys: Vec<&str> = form
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        keys.retain(|key| !switches.contains(key));
        keys.sort_unstable();
        assert_eq!(keys, PROFILE_KEYS);
    }
}
