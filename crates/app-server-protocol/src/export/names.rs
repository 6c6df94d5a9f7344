//! The types and members that the tables of this folder name: a name that no type or member has any more does not
//! compile. What the tables name beside these they define themselves, or it is not used here.

use codex_protocol::{
    AuthMode, CollaborationMode, ContentItem, DynamicToolFunction, DynamicToolSpec,
    FunctionCallOutputContentItem, ImageGenerationItem, InputModality, LocalShellExecAction,
    MacOsAutomationPermission, MacOsContactsPermission, MacOsPreferencesPermission, MessagePhase,
    PlanType, Resource, ResourceTemplate, ResponseItem, ReviewDecision, SessionSource, Settings,
    Tool, WebSearchAction, WebSearchItem, WebSearchMode,
};

use crate::v2::*;

/// A type, and its members: of an enumeration `Variant.member`.
pub(super) struct NamedType {
    name: &'static str,
    members: &'static [&'static str],
}

impl NamedType {
    /// Whether a member of the wire is one of these, or of those that stand beside them. Members of an enumeration are
    /// named with their variants where these have tags.
    pub(super) fn has(&self, member: &str) -> bool {
        let flattened = FLATTENED_TYPES.iter().filter(|(ty, _)| *ty == self.name);
        let mut parts = flattened.filter_map(|(_, part)| find(part));
        let (_, beside) = member.rsplit_once('.').unwrap_or(("", member));
        self.names(member) || parts.any(|part| part.names(member) || part.names(beside))
    }

    fn names(&self, member: &str) -> bool {
        self.members.iter().any(|name| {
            let untagged = name.split_once('.').filter(|_| !member.contains('.'));
            same_name(name, member) || untagged.is_some_and(|(_, name)| same_name(name, member))
        })
    }
}

/// Whether a member has this name in Rust, but for signs and case.
fn same_name(name: &str, member: &str) -> bool {
    let letters = |text: &str| -> String {
        let letters = text.chars().filter(|letter| letter.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    letters(name) == letters(member)
}

/// Types that schemas call by another name: that name, and the one of the type.
const RENAMED_TYPES: [(&str, &str); 2] = [
    ("ConversationSource", "SessionSource"),
    ("ResponsesApiWebSearchAction", "WebSearchAction"),
];

/// Types whose schema has the members of another one too: the type, and the other one.
const FLATTENED_TYPES: [(&str, &str); 2] = [
    (
        "McpServerElicitationRequestParams",
        "McpServerElicitationRequest",
    ),
    ("ThreadItem", "TimedItem"),
];

/// The type with this name in schemas; none if it is not among those that are named.
pub(super) fn find(name: &str) -> Option<&'static NamedType> {
    let renamed = RENAMED_TYPES.iter().find(|(schema, _)| *schema == name);
    let name = renamed.map_or(name, |(_, ty)| ty);
    NAMED.iter().find(|named| named.name == name)
}

macro_rules! check {
    (members $ty:ident { $($member:ident),* }) => {
        const _: fn(&$ty) = |value| {
            let _ = (value, $(&value.$member,)*);
        };
    };
    (variants $ty:ident { $($variant:ident { $($member:ident),* }),* }) => {
        const _: fn(&$ty) = |value| {
            let _ = (value, $(matches!(value, $ty::$variant { $($member: _,)* .. }),)*);
        };
    };
}

macro_rules! members {
    (members { $($member:ident),* }) => { &[$(stringify!($member)),*] };
    (variants { $($variant:ident { $($member:ident),* }),* }) => {
        &[$($(concat!(stringify!($variant), ".", stringify!($member)),)*)*]
    };
}

macro_rules! named {
    ($($kind:ident $ty:ident { $($body:tt)* })*) => {
        $(check! { $kind $ty { $($body)* } })*

        const NAMED: &[NamedType] = &[$(NamedType {
            name: stringify!($ty),
            members: members!($kind { $($body)* }),
        }),*];
    };
}

named! {
    variants Account { Chatgpt { email } }
    members AccountLoginCompletedNotification {}
    members AccountSession { display_name, email, image_url, last_used_at, selected_workspace_account_id, user_id }
    members AccountSessionWorkspace { image_url, kind, name }
    variants AccountSessionWorkspaceKind {}
    variants AccountSessionsSwitchResponse {}
    members AccountTokenUsageDailyBucket { tokens }
    members AccountTokenUsageSummary { current_streak_days, lifetime_tokens, longest_running_turn_sec, longest_streak_days, peak_daily_tokens }
    members AccountUpdatedNotification {}
    members AdditionalContextEntry {}
    variants AdditionalContextKind {}
    members AdditionalFileSystemPermissions { entries }
    members AdditionalMacOsPermissions {}
    members AdditionalPermissionProfile { file_system, macos, network }
    members AgentUsage {}
    members AppConfig { default_tools_approval_mode, default_tools_enabled, destructive_enabled, enabled, open_world_enabled, tools }
    members AppInfo {}
    members AppSummary {}
    variants AppToolApproval {}
    members AppToolsConfig {}
    members AppsConfig { default }
    members AppsDefaultConfig { destructive_enabled, enabled, open_world_enabled }
    variants AuthMode {}
    members ChatgptAuthTokensRefreshParams { previous_account_id }
    members ChatgptAuthTokensRefreshResponse { chatgpt_plan_type }
    members ClientInfo { title }
    variants CodexErrorInfo {}
    variants CollabAgentTool {}
    variants CollabAgentToolCallStatus {}
    members CollaborationMode {}
    members CollaborationModeMask { mode, model, reasoning_effort }
    members CommandExecutionRequestApprovalParams { additional_permissions, approval_id, available_decisions, command, command_actions, cwd, environment_id, kind, network_approval_context, proposed_execpolicy_amendment, proposed_network_policy_amendments, reason, skill_metadata, started_at_ms }
    members CommandExecutionRequestApprovalSkillMetadata {}
    members Config { browser_use, client_search_provider, computer_use, desktop, model_auto_compact_token_limit, model_auto_compact_token_limit_scope, model_context_window }
    members ConfigLayer { disabled_reason }
    variants ConfigLayerSource { User {} }
    members ConfigReadParams { include_layers }
    members ConfigRequirements {}
    members ConfigRequirementsReadResponse { supports_independent_speed_modes }
    members ConfigWarningNotification { path, range }
    variants ContentItem { InputImage { detail }, OutputText {} }
    variants ContinueTurn {}
    variants ConversationTextRole {}
    variants DynamicToolCallOutputContentItem {}
    members DynamicToolCallParams { namespace }
    members DynamicToolFunction { kind }
    variants DynamicToolSpec {}
    members EnvironmentSkillsParams {}
    members EnvironmentStatusResponse { error }
    members ExternalAgentConfigDetectParams {}
    members ExternalAgentConfigImportHistoriesReadResponse { connectors }
    members ExternalAgentConfigImportHistory { completed_at_ms }
    members ExternalAgentConfigImportHistoryRecordSuccessParams { cwd, source, target }
    members ExternalAgentConfigImportParams {}
    members ExternalAgentConfigImportResponse { import_id }
    members ExternalAgentConfigMigrationItem {}
    variants ExternalAgentConfigMigrationItemType {}
    members FeedbackUploadParams { include_logs }
    members FeedbackUploadResponse {}
    members FileChangeRequestApprovalParams { grant_root, reason, started_at_ms }
    variants FileSystemSpecialPath { ProjectRoots { subpath }, Unknown { subpath } }
    members FsGetMetadataResponse { is_symlink }
    members FsWatchParams { watch_id }
    variants FunctionCallOutputContentItem { InputImage { detail } }
    members FuzzyFileSearchParams { cancellation_token }
    members GatewayOAuthReadResponse { supports_device_auth }
    members GetAccountParams { refresh_token }
    members GetAccountRateLimitsResponse {}
    members GetAccountResponse {}
    members GetAccountTokenUsageResponse { thread_usage }
    members GetAuthStatusParams { include_token, refresh_token }
    members GrantedPermissionProfile { file_system, network }
    members GuardianApprovalReview { user_authorization }
    variants GuardianApprovalReviewStatus {}
    variants GuardianAssessmentOutcome {}
    members HookMetadata { command, display_order, timeout_sec }
    members HookRunSummary { completed_at, display_order, duration_ms, started_at }
    members ImageGenerationItem {}
    members InitializeCapabilities { experimental_api, request_attestation }
    members InitializeParams { capabilities }
    variants InputModality {}
    members InterruptedCall {}
    members InterruptedTurn {}
    members ItemCompletedNotification { completed_at_ms }
    members ItemGuardianApprovalReviewCompletedNotification { action, completed_at_ms, decision_source, review_id, started_at_ms, target_item_id }
    members ItemGuardianApprovalReviewStartedNotification { action, review_id, started_at_ms, target_item_id }
    members ItemStartedNotification { started_at_ms }
    members LocalShellExecAction { timeout_ms }
    variants LoginAccountParams { Chatgpt {} }
    variants LoginAccountResponse {}
    variants MacOsAutomationPermission {}
    variants MacOsContactsPermission {}
    variants MacOsPreferencesPermission {}
    variants McpAuthStatus {}
    members McpElicitationBooleanSchema { default, description, title }
    members McpElicitationLegacyTitledEnumSchema { default, description, enum_names, title }
    members McpElicitationNumberSchema { default, description, maximum, minimum, title }
    members McpElicitationSchema { required, schema }
    members McpElicitationStringSchema { default, description, format, max_length, min_length, title }
    members McpElicitationTitledMultiSelectEnumSchema { default, description, max_items, min_items, title }
    members McpElicitationTitledSingleSelectEnumSchema { default, description, title }
    members McpElicitationUntitledMultiSelectEnumSchema { default, description, max_items, min_items, title }
    members McpElicitationUntitledSingleSelectEnumSchema { default, description, title }
    members McpResourceReadTarget { link_id }
    variants McpServerElicitationRequest { Form { meta }, OpenaiForm { meta }, Url { meta } }
    members McpServerElicitationRequestParams { environment_id }
    members McpServerElicitationRequestResponse { content, meta }
    members McpServerEventStreamStartParams { meta }
    members McpServerInfo {}
    members McpServerOauthLoginCompletedNotification { error, login_id, thread_id }
    members McpServerOauthLoginParams { timeout_secs }
    members McpServerOauthLoginResponse { login_id }
    members McpServerStatus { environment_id, http_origin, runtime_status, server_capabilities, server_info, tool_list_meta, tools_error }
    members McpServerStatusUpdatedNotification {}
    members McpServerToolCallResponse { is_error, meta, structured_content }
    members McpToolCallResult { meta, structured_content }
    variants MessagePhase {}
    members Model {}
    members ModelProviderDefaultSetParams {}
    members ModelUpgradeInfo {}
    variants MultiAgentMode {}
    variants NetworkDomainPermission {}
    members NetworkRequirements { allow_local_binding, allow_unix_sockets, allow_upstream_proxy, allowed_domains, dangerously_allow_all_unix_sockets, dangerously_allow_non_loopback_proxy, denied_domains, domains, enabled, http_port, managed_allowed_domains_only, review_domains, socks_port, unix_sockets }
    variants NetworkUnixSocketPermission {}
    members PermissionsRequestApprovalParams { cwd, environment_id, started_at_ms }
    members PermissionsRequestApprovalResponse { scope }
    variants PlanType {}
    members PluginDetail { app_templates, hooks, marketplace_path }
    members PluginInstallParams { marketplace_path }
    members PluginInstalledParams {}
    members PluginInterface { logo_dark, screenshot_urls }
    members PluginListParams { force_refetch }
    members PluginMarketplaceEntry { path }
    members PluginReadParams { marketplace_path }
    members PluginSearchResult { marketplace_path }
    variants PluginSearchScope {}
    variants PluginShareDiscoverability {}
    members PluginSharePrincipal {}
    variants PluginSharePrincipalRole {}
    variants PluginSharePrincipalType {}
    variants PluginSource {}
    members PluginSummary { availability, local_version }
    members ProcessExitedNotification { output_drain_timed_out }
    members ProcessTerminalSize {}
    members Project { recency_at }
    members ProjectRoot {}
    variants ProjectSortKey {}
    variants ProviderSettingsPatch {}
    members QueuedSubmission { responsesapi_client_metadata }
    members RateLimitSnapshot {}
    variants RealtimeOutputModality {}
    variants RealtimeVoice {}
    members RealtimeVoicesList { v3 }
    members RemoteControlClient { last_seen_at }
    members RemoteControlDisableParams {}
    members RemoteControlEnableParams {}
    members RemoteControlPairingStartResponse { expires_at }
    members Resource { description, icons, mime_type, size, title }
    variants ResourceContent { Text { mime_type } }
    members ResourceTemplate { description, mime_type, title }
    variants ResponseItem { AgentMessage { id }, Compaction {}, CustomToolCall { id, status }, CustomToolCallOutput { name }, FunctionCall { id, namespace }, FunctionCallOutput { call_id }, ImageGenerationCall { id, revised_prompt }, LocalShellCall { id }, Message { end_turn, id, phase }, Reasoning { content }, ToolSearchCall { arguments, id, status }, ToolSearchOutput { tools }, WebSearchCall { action, id, status } }
    variants ReviewDecision {}
    variants ReviewTarget { Commit { title } }
    members ServerDiagnosticsGauge {}
    members ServerDiagnosticsProcess { physical_footprint_bytes, resident_memory_bytes }
    members Settings { developer_instructions, reasoning_effort }
    variants SessionSource {}
    members SkillInterface { brand_color, default_prompt, display_name, icon_large, icon_small, short_description }
    members SkillMetadata { dependencies, interface, plugin_id, short_description }
    members SkillSummary { path }
    members SkillToolDependency { command, description, transport, url }
    members Thread { attached_to_thread_id, can_accept_direct_input, daybreak_enabled, environments, extra, forked_from_id, history_mode, model, originator, parent_thread_id, project_id, reasoning_effort, recency_at, session_id, thread_source }
    members ThreadBackgroundTerminal {}
    members ThreadDecrementElicitationResponse { count }
    members ThreadEnvironment {}
    members ThreadExtra {}
    members ThreadForkParams { path, persist_extended_history }
    members ThreadForkResponse { active_permission_profile, multi_agent_mode, runtime_workspace_roots }
    members ThreadIncrementElicitationResponse { count }
    variants ThreadItem { AgentMessage {}, CollabAgentToolCall {}, CommandExecution {}, ContextCompaction {}, DynamicToolCall { namespace }, EnteredReviewMode {}, ExitedReviewMode {}, FileChange {}, FunctionCallOutput {}, HookPrompt {}, ImageGeneration { saved_path }, ImageView {}, McpToolCall { environment_id, read_only_hint }, Plan {}, Reasoning {}, SubAgentActivity {}, UserMessage { client_id }, WebSearch {} }
    members ThreadItemEntry { output_deferred }
    members ThreadListParams { cwd }
    members ThreadListResponse { backwards_cursor, read_states }
    variants ThreadMemoryMode {}
    members ThreadNameUpdatedNotification { thread_name }
    members ThreadProjectUpdatedNotification { project_id }
    members ThreadReadParams { include_turns }
    members ThreadReadResponse { read_state }
    variants ThreadReadStateOperation {}
    members ThreadRealtimeAppendTextParams { role }
    variants ThreadRealtimeCoverage {}
    members ThreadRealtimeEntry {}
    members ThreadRealtimeFrameChannels {}
    variants ThreadRealtimeHandoffMode {}
    variants ThreadRealtimeItem {}
    members ThreadRealtimeListParams {}
    members ThreadRealtimeListResponse { next_cursor }
    variants ThreadRealtimeOrder {}
    members ThreadRealtimeStartParams { output_modality, prompt }
    variants ThreadRealtimeStartTransport {}
    members ThreadRealtimeStartedNotification { realtime_session_id }
    members ThreadRealtimeVoiceTranscript {}
    members ThreadResumeInitialTurnsPageParams {}
    members ThreadResumeParams { history, path, persist_extended_history }
    members ThreadResumeResponse { active_permission_profile, collaboration_mode, initial_turns_page, multi_agent_mode, runtime_workspace_roots }
    members ThreadSampleResponse { cached_input_tokens, input_tokens, output_tokens }
    members ThreadSearchCancelParams {}
    members ThreadSearchCancelResponse {}
    members ThreadSearchPartialNotification {}
    members ThreadSearchResult {}
    variants ThreadSearchSortKey {}
    members ThreadSectionChangedNotification { section_id }
    members ThreadSectionMoveParams { section_id }
    members ThreadSettings { active_permission_profile, environments, multi_agent_mode }
    members ThreadStartParams { experimental_raw_events, persist_extended_history, selected_capability_roots, session_start_source }
    members ThreadStartResponse { active_permission_profile, multi_agent_mode, runtime_workspace_roots }
    variants ThreadTimelineEntry { TurnCompleted { completed_at, duration_ms, error, started_at }, TurnStarted { started_at } }
    members ThreadTurnsItemsListResponse { backwards_cursor, next_cursor }
    members ThreadTurnsListResponse { backwards_cursor, next_cursor }
    members ThreadUsage { estimated_usage_credits_micros, estimated_usage_usd_micros, native_usage_usd_micros }
    members ThreadUsageBreakdownGroup { cached_input_tokens, estimated_usage_credits_micros, input_tokens, net_new_input_tokens, output_tokens, total_tokens }
    members TimedItem { completed_at_ms, started_at_ms }
    members TokenUsageBreakdown { cache_write_input_tokens }
    members Tool { description, icons, title }
    members ToolRequestUserInputParams { is_blocking }
    members ToolUsage {}
    members Turn { completed_at, duration_ms, items_view, root_turn_id, started_at }
    members TurnEnvironmentParams {}
    members TurnError {}
    members TurnStartParams { collaboration_mode, output_schema }
    members TurnToolOutput { namespace }
    members TurnUsage {}
    variants UserInput { Image { detail }, LocalImage { detail }, Text { text_elements } }
    members UserVerificationVerifyResponse {}
    variants WebSearchAction { FindInPage { pattern, url }, OpenPage { url }, Search { queries, query } }
    members WebSearchItem {}
    variants WebSearchMode {}
}
