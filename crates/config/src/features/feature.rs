//! The features with their keys, stages, defaults and texts.

use codex_system::facts::HAS_FULL_TERMINALS;

/// The maturity of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureStage {
    /// Not ready for use.
    UnderDevelopment,
    /// Ready to be tried by users.
    Beta,
    /// Finished. The switch is kept.
    Stable,
    /// Still works, but will be removed.
    Deprecated,
    /// The switch is accepted and has no effect.
    Removed,
}

/// Texts about a beta feature for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BetaTexts {
    pub display_name: &'static str,
    pub description: &'static str,
    /// The announcement of the feature.
    pub announcement: &'static str,
}

macro_rules! features {
    ($($variant:ident $key:literal $stage:ident $default:literal)*) => {
        /// A feature, in the order of the registry.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Feature { $($variant),* }

        impl Feature {
            /// All features, in the order of the registry.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The key in settings.
            pub fn key(self) -> &'static str {
                match self { $(Self::$variant => $key),* }
            }

            /// The maturity.
            pub fn stage(self) -> FeatureStage {
                match self { $(Self::$variant => FeatureStage::$stage),* }
            }

            /// Whether the feature is enabled by default.
            pub fn default_enabled(self) -> bool {
                match self {
                    Self::UnifiedExec if !HAS_FULL_TERMINALS => false,
                    $(Self::$variant => $default),*
                }
            }
        }
    };
}

features! {
    Undo "undo" Stable false
    ShellTool "shell_tool" Stable true
    UnifiedExec "unified_exec" Stable true
    ShellZshFork "shell_zsh_fork" UnderDevelopment false
    ShellSnapshot "shell_snapshot" Stable true
    JsRepl "js_repl" Beta false
    CodeMode "code_mode" UnderDevelopment false
    CodeModeOnly "code_mode_only" UnderDevelopment false
    JsReplToolsOnly "js_repl_tools_only" UnderDevelopment false
    WebSearchRequest "web_search_request" Deprecated false
    WebSearchCached "web_search_cached" Deprecated false
    SearchTool "search_tool" Removed false
    CodexGitCommit "codex_git_commit" UnderDevelopment false
    RuntimeMetrics "runtime_metrics" UnderDevelopment false
    Sqlite "sqlite" Removed true
    Memories "memories" UnderDevelopment false
    ChildAgentsMd "child_agents_md" UnderDevelopment false
    ImageDetailOriginal "image_detail_original" UnderDevelopment false
    ApplyPatchFreeform "apply_patch_freeform" UnderDevelopment false
    ExecPermissionApprovals "exec_permission_approvals" UnderDevelopment false
    CodexHooks "codex_hooks" UnderDevelopment false
    RequestPermissionsTool "request_permissions_tool" UnderDevelopment false
    UseLinuxSandboxBwrap "use_linux_sandbox_bwrap" Removed false
    UseLegacyLandlock "use_legacy_landlock" Stable false
    RequestRule "request_rule" Removed false
    ExperimentalWindowsSandbox "experimental_windows_sandbox" Removed false
    ElevatedWindowsSandbox "elevated_windows_sandbox" Removed false
    RemoteModels "remote_models" Removed false
    EnableRequestCompression "enable_request_compression" Stable true
    MultiAgent "multi_agent" Stable true
    MultiAgentV2 "multi_agent_v2" UnderDevelopment false
    EnableFanout "enable_fanout" UnderDevelopment false
    Apps "apps" Stable true
    ToolSearch "tool_search" UnderDevelopment false
    ToolSuggest "tool_suggest" Stable true
    Plugins "plugins" Stable true
    ImageGeneration "image_generation" UnderDevelopment false
    SkillMcpDependencyInstall "skill_mcp_dependency_install" Stable true
    SkillEnvVarDependencyPrompt "skill_env_var_dependency_prompt" UnderDevelopment false
    Steer "steer" Removed true
    DefaultModeRequestUserInput "default_mode_request_user_input" UnderDevelopment false
    GuardianApproval "guardian_approval" Beta false
    CollaborationModes "collaboration_modes" Removed true
    ToolCallMcpElicitation "tool_call_mcp_elicitation" Stable true
    Personality "personality" Stable true
    Artifact "artifact" UnderDevelopment false
    FastMode "fast_mode" Stable true
    VoiceTranscription "voice_transcription" UnderDevelopment false
    RealtimeConversation "realtime_conversation" UnderDevelopment false
    TuiAppServer "tui_app_server" Stable true
    PreventIdleSleep "prevent_idle_sleep" Beta false
    ResponsesWebsockets "responses_websockets" Removed false
    ResponsesWebsocketsV2 "responses_websockets_v2" Removed false
    Hooks "hooks" Stable true
    Goals "goals" Stable true
    StepModelSwitching "step_model_switching" UnderDevelopment false
    ApplyPatchStreamingEvents "apply_patch_streaming_events" UnderDevelopment false
    NetworkProxy "network_proxy" Beta false
}

/// Keys from earlier releases in `[features]`.
const OLD_NAMES: &[(&str, Feature)] = &[
    ("connectors", Feature::Apps),
    (
        "enable_experimental_windows_sandbox",
        Feature::ExperimentalWindowsSandbox,
    ),
    ("experimental_use_unified_exec_tool", Feature::UnifiedExec),
    (
        "experimental_use_freeform_apply_patch",
        Feature::ApplyPatchFreeform,
    ),
    ("include_apply_patch_tool", Feature::ApplyPatchFreeform),
    ("request_permissions", Feature::ExecPermissionApprovals),
    ("web_search", Feature::WebSearchRequest),
    ("collab", Feature::MultiAgent),
    ("memory_tool", Feature::Memories),
];

impl Feature {
    /// The feature with a current key.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|feature| feature.key() == key)
    }

    /// The feature with a current or old key.
    pub fn parse(key: &str) -> Option<Self> {
        Self::from_key(key).or_else(|| {
            let old = OLD_NAMES.iter().find(|(name, _)| *name == key);
            old.map(|(_, feature)| *feature)
        })
    }

    /// Whether a project may switch the feature. It may not where the feature decides which hooks and other programs run,
    /// who is asked, how commands are confined, what is recorded, or where data goes.
    pub(crate) fn is_for_projects(self) -> bool {
        match self {
            Self::Undo
            | Self::ShellTool
            | Self::UnifiedExec
            | Self::JsRepl
            | Self::CodeMode
            | Self::CodeModeOnly
            | Self::JsReplToolsOnly
            | Self::WebSearchRequest
            | Self::WebSearchCached
            | Self::SearchTool
            | Self::CodexGitCommit
            | Self::ChildAgentsMd
            | Self::ImageDetailOriginal
            | Self::ApplyPatchFreeform
            | Self::RequestRule
            | Self::RemoteModels
            | Self::EnableRequestCompression
            | Self::MultiAgent
            | Self::MultiAgentV2
            | Self::EnableFanout
            | Self::ToolSearch
            | Self::ImageGeneration
            | Self::Steer
            | Self::DefaultModeRequestUserInput
            | Self::CollaborationModes
            | Self::Personality
            | Self::Artifact
            | Self::FastMode
            | Self::ResponsesWebsockets
            | Self::ResponsesWebsocketsV2
            | Self::Goals
            | Self::StepModelSwitching
            | Self::ApplyPatchStreamingEvents => true,
            Self::ShellZshFork
            | Self::ShellSnapshot
            | Self::RuntimeMetrics
            | Self::Sqlite
            | Self::Memories
            | Self::ExecPermissionApprovals
            | Self::CodexHooks
            | Self::RequestPermissionsTool
            | Self::UseLinuxSandboxBwrap
            | Self::UseLegacyLandlock
            | Self::ExperimentalWindowsSandbox
            | Self::ElevatedWindowsSandbox
            | Self::Apps
            | Self::ToolSuggest
            | Self::Plugins
            | Self::SkillMcpDependencyInstall
            | Self::SkillEnvVarDependencyPrompt
            | Self::GuardianApproval
            | Self::ToolCallMcpElicitation
            | Self::VoiceTranscription
            | Self::RealtimeConversation
            | Self::TuiAppServer
            | Self::PreventIdleSleep
            | Self::Hooks
            | Self::NetworkProxy => false,
        }
    }

    /// The texts for users, for beta features only.
    pub fn beta_texts(self) -> Option<BetaTexts> {
        match self {
            Self::JsRepl => Some(BetaTexts {
                display_name: "JavaScript REPL",
                description: "A JavaScript session that stays alive between calls, for the model to compute in.",
                announcement: "New: the model can work in a JavaScript session. Turn it on among the features.",
            }),
            Self::GuardianApproval => Some(BetaTexts {
                display_name: "Guardian Approvals",
                description: "A second model judges requests for approval and passes on only the risky ones.",
                announcement: "New: a guardian model can answer routine approvals. Turn it on among the features.",
            }),
            Self::PreventIdleSleep => Some(BetaTexts {
                display_name: "Prevent sleep while running",
                description: "Keeps the computer awake for as long as a turn runs.",
                announcement: "New: the computer can be kept awake during turns. Turn it on among the features.",
            }),
            Self::NetworkProxy => Some(BetaTexts {
                display_name: "Network limited to hosts",
                description: "Commands in the sandbox reach only the hosts that are listed, on Linux; elsewhere \
                          they reach none.",
                announcement: "New: the network of commands can be limited. Turn it on among the features.",
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_leads_back_to_its_feature() {
        assert_eq!(Feature::ALL.len(), 58);
        for feature in Feature::ALL {
            assert_eq!(Feature::from_key(feature.key()), Some(*feature));
            let beta = feature.stage() == FeatureStage::Beta;
            assert_eq!(feature.beta_texts().is_some(), beta, "{feature:?}");
        }
    }

    #[test]
    fn old_names_are_not_keys_of_today() {
        for (name, feature) in OLD_NAMES {
            assert_eq!(Feature::from_key(name), None);
            assert_eq!(Feature::parse(name), Some(*feature));
        }
        assert_eq!(Feature::parse("nope"), None);
    }
}
