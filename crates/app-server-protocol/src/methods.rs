//! The table of methods: every method once, with its params, its response and its stability.
//!
//! The enums of requests and notifications, the dispatch types, the exporters and the tables in the
//! documentation all come from these rows. `#[experimental]` on a row means that a client must
//! opt in with `capabilities.experimentalApi` before it may use the method.

use crate::method_table::{NoParams, method_table};
use crate::v2::*;

method_table! {
    client_requests {
        /// Opens the connection: who the client is, what it can do; the first request, once.
        Initialize = "initialize": InitializeParams => InitializeResponse;
        /// Starts a new thread and subscribes this connection to it.
        ThreadStart = "thread/start": ThreadStartParams => ThreadStartResponse;
        /// Loads a stored thread, or joins a running one, so that turns can follow.
        ThreadResume = "thread/resume": ThreadResumeParams => ThreadResumeResponse;
        /// Copies a thread's history into a new thread with an id of its own.
        ThreadFork = "thread/fork": ThreadForkParams => ThreadForkResponse;
        /// Moves a stored thread out of the default list.
        ThreadArchive = "thread/archive": ThreadArchiveParams => ThreadArchiveResponse;
        /// Ends this connection's interest in a thread; the last one to leave unloads it.
        ThreadUnsubscribe = "thread/unsubscribe": ThreadUnsubscribeParams => ThreadUnsubscribeResponse;
        /// Holds the thread's tool timeouts while the client asks its user something of its own.
        #[experimental]
        ThreadIncrementElicitation = "thread/increment_elicitation":
            ThreadIncrementElicitationParams => ThreadIncrementElicitationResponse;
        /// Takes back one hold set by `thread/increment_elicitation`.
        #[experimental]
        ThreadDecrementElicitation = "thread/decrement_elicitation":
            ThreadDecrementElicitationParams => ThreadDecrementElicitationResponse;
        /// Gives a thread the name that people see.
        ThreadSetName = "thread/name/set": ThreadSetNameParams => ThreadSetNameResponse;
        /// Changes stored metadata of a thread, field by field.
        ThreadMetadataUpdate = "thread/metadata/update":
            ThreadMetadataUpdateParams => ThreadMetadataUpdateResponse;
        /// Changes what a loaded thread is set to, without a turn.
        #[experimental]
        ThreadSettingsUpdate = "thread/settings/update":
            ThreadSettingsUpdateParams => ThreadSettingsUpdateResponse;
        /// Brings an archived thread back into the default list.
        ThreadUnarchive = "thread/unarchive": ThreadUnarchiveParams => ThreadUnarchiveResponse;
        /// Removes a stored thread for good, in use or archived.
        ThreadDelete = "thread/delete": ThreadDeleteParams => ThreadDeleteResponse;
        /// Replaces the older part of a thread's history by a summary; progress comes as a turn.
        ThreadCompactStart = "thread/compact/start":
            ThreadCompactStartParams => ThreadCompactStartResponse;
        /// Runs a command line of the user in a thread, outside its sandbox.
        ThreadShellCommand = "thread/shellCommand":
            ThreadShellCommandParams => ThreadShellCommandResponse;
        /// Asks the model once with the context of a thread; neither the thread nor its clients notice.
        #[experimental]
        ThreadSample = "thread/sample": ThreadSampleParams => ThreadSampleResponse;
        /// Gives up a `thread/sample` of the same connection.
        #[experimental]
        ThreadSampleCancel = "thread/sample/cancel":
            ThreadSampleCancelParams => ThreadSampleCancelResponse;
        /// Puts an approved plan into the context of a thread.
        #[experimental]
        ThreadPrepareApprovedPlan = "thread/prepareApprovedPlan":
            ThreadPrepareApprovedPlanParams => ThreadPrepareApprovedPlanResponse;
        /// Asks for a guess at the next message.
        #[experimental]
        ThreadPredictionRequest = "thread/prediction/request":
            ThreadPredictionRequestParams => ThreadPredictionRequestResponse;
        /// Lets an action go on that the automatic reviewer denied.
        ThreadApproveGuardianDeniedAction = "thread/approveGuardianDeniedAction":
            ThreadApproveGuardianDeniedActionParams => ThreadApproveGuardianDeniedActionResponse;
        /// Has the automatic reviewer judge the last call of a thread.
        #[experimental]
        ThreadGuardianReview = "thread/guardianReview":
            ThreadGuardianReviewParams => ThreadGuardianReviewResponse;
        /// Ends every terminal that still runs in the background of a thread.
        #[experimental]
        ThreadBackgroundTerminalsClean = "thread/backgroundTerminals/clean":
            ThreadBackgroundTerminalsCleanParams => ThreadBackgroundTerminalsCleanResponse;
        /// Lists the terminals that still run in the background of a thread.
        #[experimental]
        ThreadBackgroundTerminalsList = "thread/backgroundTerminals/list":
            ThreadBackgroundTerminalsListParams => ThreadBackgroundTerminalsListResponse;
        /// Ends one terminal that still runs in the background of a thread.
        #[experimental]
        ThreadBackgroundTerminalsTerminate = "thread/backgroundTerminals/terminate":
            ThreadBackgroundTerminalsTerminateParams => ThreadBackgroundTerminalsTerminateResponse;
        /// Takes the last turns out of a thread's history; files stay as they are.
        ThreadRollback = "thread/rollback": ThreadRollbackParams => ThreadRollbackResponse;
        /// Pages through the stored threads.
        ThreadList = "thread/list": ThreadListParams => ThreadListResponse;
        /// Lists the ids of the threads that are in memory.
        ThreadLoadedList = "thread/loaded/list": ThreadLoadedListParams => ThreadLoadedListResponse;
        /// Reads a thread without loading it, with its turns if asked.
        ThreadRead = "thread/read": ThreadReadParams => ThreadReadResponse;
        /// Pages through the turns of a thread, from either end.
        ThreadTurnsList = "thread/turns/list": ThreadTurnsListParams => ThreadTurnsListResponse;
        /// Pages through the items of a thread, from either end.
        ThreadItemsList = "thread/items/list": ThreadItemsListParams => ThreadItemsListResponse;
        /// Puts items into what the model of a thread sees, without a turn.
        ThreadInjectItems = "thread/inject_items":
            ThreadInjectItemsParams => ThreadInjectItemsResponse;
        /// Reads what a thread works towards.
        ThreadGoalGet = "thread/goal/get": ThreadGoalGetParams => ThreadGoalGetResponse;
        /// Lists the skills found for one or more folders.
        SkillsList = "skills/list": SkillsListParams => SkillsListResponse;
        /// Lists the plugin marketplaces and what they offer.
        PluginList = "plugin/list": PluginListParams => PluginListResponse;
        /// Lists the plugins that are installed.
        PluginInstalled = "plugin/installed": PluginInstalledParams => PluginInstalledResponse;
        /// Describes one plugin in full.
        PluginRead = "plugin/read": PluginReadParams => PluginReadResponse;
        /// Lists the hooks found for one or more folders.
        HooksList = "hooks/list": HooksListParams => HooksListResponse;
        /// Registers this connection for a hook: it is asked with `hook/run`.
        #[experimental]
        HooksRegister = "hooks/register": HooksRegisterParams => HooksRegisterResponse;
        /// Takes a registration for a hook back.
        #[experimental]
        HooksUnregister = "hooks/unregister": HooksUnregisterParams => HooksUnregisterResponse;
        /// Pages through the permissions that a thread can be given by name.
        PermissionProfileList = "permissionProfile/list":
            PermissionProfileListParams => PermissionProfileListResponse;
        /// Pages through the apps that can be connected.
        AppsList = "app/list": AppsListParams => AppsListResponse;
        /// Reads a file.
        FsReadFile = "fs/readFile": FsReadFileParams => FsReadFileResponse;
        /// Writes a file whole.
        FsWriteFile = "fs/writeFile": FsWriteFileParams => FsWriteFileResponse;
        /// Makes a folder.
        FsCreateDirectory = "fs/createDirectory":
            FsCreateDirectoryParams => FsCreateDirectoryResponse;
        /// Tells what a path is and when it was made and changed.
        FsGetMetadata = "fs/getMetadata": FsGetMetadataParams => FsGetMetadataResponse;
        /// Lists what a folder holds, one level deep.
        FsReadDirectory = "fs/readDirectory": FsReadDirectoryParams => FsReadDirectoryResponse;
        /// Removes a file or a folder.
        FsRemove = "fs/remove": FsRemoveParams => FsRemoveResponse;
        /// Copies a file or a folder.
        FsCopy = "fs/copy": FsCopyParams => FsCopyResponse;
        /// Starts watching a path for this connection; changes come as `fs/changed`.
        FsWatch = "fs/watch": FsWatchParams => FsWatchResponse;
        /// Ends a watch.
        FsUnwatch = "fs/unwatch": FsUnwatchParams => FsUnwatchResponse;
        /// Sets further folders of skills for every working folder.
        SkillsExtraRootsSet = "skills/extraRoots/set":
            SkillsExtraRootsSetParams => SkillsExtraRootsSetResponse;
        /// Turns a skill on or off in the user's configuration.
        SkillsConfigWrite = "skills/config/write": SkillsConfigWriteParams => SkillsConfigWriteResponse;
        /// Installs a plugin from a marketplace.
        PluginInstall = "plugin/install": PluginInstallParams => PluginInstallResponse;
        /// Removes an installed plugin.
        PluginUninstall = "plugin/uninstall": PluginUninstallParams => PluginUninstallResponse;
        /// Gives the model new input; the turn that follows streams as notifications.
        TurnStart = "turn/start": TurnStartParams => TurnStartResponse;
        /// Continues a turn that had not ended when its server did.
        #[experimental]
        TurnContinue = "turn/continue": TurnContinueParams => TurnContinueResponse;
        /// Adds input to the turn that is running.
        TurnSteer = "turn/steer": TurnSteerParams => TurnSteerResponse;
        /// Changes the settings of the running turn alone.
        #[experimental]
        TurnSettingsUpdate = "turn/settings/update":
            TurnSettingsUpdateParams => TurnSettingsUpdateResponse;
        /// Stops the turn that is running.
        TurnInterrupt = "turn/interrupt": TurnInterruptParams => TurnInterruptResponse;
        /// Opens a live voice or text conversation in a thread.
        #[experimental]
        ThreadRealtimeStart = "thread/realtime/start":
            ThreadRealtimeStartParams => ThreadRealtimeStartResponse;
        /// Adds audio to the live conversation.
        #[experimental]
        ThreadRealtimeAppendAudio = "thread/realtime/appendAudio":
            ThreadRealtimeAppendAudioParams => ThreadRealtimeAppendAudioResponse;
        /// Adds text to the live conversation.
        #[experimental]
        ThreadRealtimeAppendText = "thread/realtime/appendText":
            ThreadRealtimeAppendTextParams => ThreadRealtimeAppendTextResponse;
        /// Closes the live conversation.
        #[experimental]
        ThreadRealtimeStop = "thread/realtime/stop":
            ThreadRealtimeStopParams => ThreadRealtimeStopResponse;
        /// Has changes reviewed, in the thread itself or in one of its own.
        ReviewStart = "review/start": ReviewStartParams => ReviewStartResponse;
        /// Pages through the models that can be chosen.
        ModelList = "model/list": ModelListParams => ModelListResponse;
        /// Pages through the feature switches and their state.
        ExperimentalFeatureList = "experimentalFeature/list":
            ExperimentalFeatureListParams => ExperimentalFeatureListResponse;
        /// Sets feature switches for as long as this process runs.
        ExperimentalFeatureEnablementSet = "experimentalFeature/enablement/set":
            ExperimentalFeatureEnablementSetParams => ExperimentalFeatureEnablementSetResponse;
        /// Lists the ways of working together that a turn can ask for.
        #[experimental]
        CollaborationModeList = "collaborationMode/list":
            CollaborationModeListParams => CollaborationModeListResponse;
        /// Does nothing; clients test their opt-in with it.
        #[experimental]
        MockExperimentalMethod = "mock/experimentalMethod":
            MockExperimentalMethodParams => MockExperimentalMethodResponse;
        /// Starts the OAuth login of an MCP server.
        McpServerOauthLogin = "mcpServer/oauth/login":
            McpServerOauthLoginParams => McpServerOauthLoginResponse;
        /// Reads the MCP server configuration again, for loaded threads too.
        McpServerRefresh = "config/mcpServer/reload": NoParams => McpServerRefreshResponse;
        /// Pages through the MCP servers with their tools, resources and login state.
        ListMcpServerStatus = "mcpServerStatus/list":
            ListMcpServerStatusParams => ListMcpServerStatusResponse;
        /// Prepares the sandbox on Windows; an error elsewhere.
        WindowsSandboxSetupStart = "windowsSandbox/setupStart":
            WindowsSandboxSetupStartParams => WindowsSandboxSetupStartResponse;
        /// Logs in with a key, in the browser, or with tokens that the client holds.
        LoginAccount = "account/login/start": LoginAccountParams => LoginAccountResponse;
        /// Gives up a browser login that has not finished.
        CancelLoginAccount = "account/login/cancel":
            CancelLoginAccountParams => CancelLoginAccountResponse;
        /// Forgets the login.
        LogoutAccount = "account/logout": NoParams => LogoutAccountResponse;
        /// Reads how much of the account's limits is used.
        GetAccountRateLimits = "account/rateLimits/read": NoParams => GetAccountRateLimitsResponse;
        /// Sends a report about a thread.
        FeedbackUpload = "feedback/upload": FeedbackUploadParams => FeedbackUploadResponse;
        /// Saves a report on this machine, as an archive.
        FeedbackSave = "feedback/save": FeedbackSaveParams => FeedbackSaveResponse;
        /// Runs one command in the sandbox, without a thread.
        CommandExec = "command/exec": CommandExecParams => CommandExecResponse;
        /// Writes to the input of a command that runs, or closes it.
        CommandExecWrite = "command/exec/write": CommandExecWriteParams => CommandExecWriteResponse;
        /// Ends a command that runs.
        CommandExecTerminate = "command/exec/terminate":
            CommandExecTerminateParams => CommandExecTerminateResponse;
        /// Changes the terminal size of a command that runs.
        CommandExecResize = "command/exec/resize":
            CommandExecResizeParams => CommandExecResizeResponse;
        /// Reads the effective configuration, and where each value comes from.
        ConfigRead = "config/read": ConfigReadParams => ConfigReadResponse;
        /// Looks for another assistant's settings that could be taken over.
        ExternalAgentConfigDetect = "externalAgentConfig/detect":
            ExternalAgentConfigDetectParams => ExternalAgentConfigDetectResponse;
        /// Takes over settings that `externalAgentConfig/detect` found.
        ExternalAgentConfigImport = "externalAgentConfig/import":
            ExternalAgentConfigImportParams => ExternalAgentConfigImportResponse;
        /// Writes one value to the user's configuration file.
        ConfigValueWrite = "config/value/write": ConfigValueWriteParams => ConfigWriteResponse;
        /// Writes several values to the user's configuration file, all or none.
        ConfigBatchWrite = "config/batchWrite": ConfigBatchWriteParams => ConfigWriteResponse;
        /// Reads what an administrator requires of the configuration.
        ConfigRequirementsRead = "configRequirements/read":
            NoParams => ConfigRequirementsReadResponse;
        /// Reads who is logged in.
        GetAccount = "account/read": GetAccountParams => GetAccountResponse;
        /// Summarises a stored thread; an older form of `thread/read`.
        GetConversationSummary = "getConversationSummary":
            GetConversationSummaryParams => GetConversationSummaryResponse;
        /// Compares a folder with the newest commit that its remote has too.
        GitDiffToRemote = "gitDiffToRemote": GitDiffToRemoteParams => GitDiffToRemoteResponse;
        /// Reads how requests are authenticated; an older form of `account/read`.
        GetAuthStatus = "getAuthStatus": GetAuthStatusParams => GetAuthStatusResponse;
        /// Finds files by an approximate name.
        FuzzyFileSearch = "fuzzyFileSearch": FuzzyFileSearchParams => FuzzyFileSearchResponse;
        /// Opens a file search that is refined as the user types.
        #[experimental]
        FuzzyFileSearchSessionStart = "fuzzyFileSearch/sessionStart":
            FuzzyFileSearchSessionStartParams => FuzzyFileSearchSessionStartResponse;
        /// Changes what an open file search looks for.
        #[experimental]
        FuzzyFileSearchSessionUpdate = "fuzzyFileSearch/sessionUpdate":
            FuzzyFileSearchSessionUpdateParams => FuzzyFileSearchSessionUpdateResponse;
        /// Closes a file search.
        #[experimental]
        FuzzyFileSearchSessionStop = "fuzzyFileSearch/sessionStop":
            FuzzyFileSearchSessionStopParams => FuzzyFileSearchSessionStopResponse;
        /// Creates a project.
        #[experimental]
        ProjectCreate = "project/create": ProjectCreateParams => ProjectCreateResponse;
        /// Deletes a project; its threads stay.
        #[experimental]
        ProjectDelete = "project/delete": ProjectDeleteParams => ProjectDeleteResponse;
        /// Creates a project with threads.
        #[experimental]
        ProjectImport = "project/import": ProjectImportParams => ProjectImportResponse;
        /// Pages through the projects.
        #[experimental]
        ProjectList = "project/list": ProjectListParams => ProjectListResponse;
        /// Changes the position of a project.
        #[experimental]
        ProjectMove = "project/move": ProjectMoveParams => ProjectMoveResponse;
        /// Reads a project.
        #[experimental]
        ProjectRead = "project/read": ProjectReadParams => ProjectReadResponse;
        /// Changes a project.
        #[experimental]
        ProjectUpdate = "project/update": ProjectUpdateParams => ProjectUpdateResponse;
        /// Adds a record of the client to a thread.
        ThreadAttachmentAdd = "thread/attachment/add":
            ThreadAttachmentAddParams => ThreadAttachmentAddResponse;
        /// Lists the records on a thread.
        ThreadAttachmentList = "thread/attachment/list":
            ThreadAttachmentListParams => ThreadAttachmentListResponse;
        /// Removes a record from a thread.
        ThreadAttachmentRemove = "thread/attachment/remove":
            ThreadAttachmentRemoveParams => ThreadAttachmentRemoveResponse;
        /// Lists the threads with a record.
        ThreadAttachmentOwnerList = "thread/attachmentOwner/list":
            ThreadAttachmentOwnerListParams => ThreadAttachmentOwnerListResponse;
        /// Removes the goal of a thread.
        ThreadGoalClear = "thread/goal/clear": ThreadGoalClearParams => ThreadGoalClearResponse;
        /// Sets or changes what a thread works towards.
        ThreadGoalSet = "thread/goal/set": ThreadGoalSetParams => ThreadGoalSetResponse;
        /// Reads items of a turn by their ids.
        #[experimental]
        ThreadItemsRead = "thread/items/read": ThreadItemsReadParams => ThreadItemsReadResponse;
        /// Adds a message that waits for the running turn to end.
        #[experimental]
        ThreadQueueAdd = "thread/queue/add": ThreadQueueAddParams => ThreadQueueAddResponse;
        /// Removes a message from the queue.
        #[experimental]
        ThreadQueueDelete = "thread/queue/delete":
            ThreadQueueDeleteParams => ThreadQueueDeleteResponse;
        /// Pages through the queue of a thread.
        #[experimental]
        ThreadQueueList = "thread/queue/list": ThreadQueueListParams => ThreadQueueListResponse;
        /// Changes the order of the queue.
        #[experimental]
        ThreadQueueReorder = "thread/queue/reorder":
            ThreadQueueReorderParams => ThreadQueueReorderResponse;
        /// Starts a message of the queue now.
        #[experimental]
        ThreadQueueStart = "thread/queue/start": ThreadQueueStartParams => ThreadQueueStartResponse;
        /// Changes a message of the queue.
        #[experimental]
        ThreadQueueUpdate = "thread/queue/update":
            ThreadQueueUpdateParams => ThreadQueueUpdateResponse;
        /// Searches the messages of all threads.
        #[experimental]
        ThreadSearch = "thread/search": ThreadSearchParams => ThreadSearchResponse;
        /// Searches the messages of one thread.
        #[experimental]
        ThreadSearchOccurrences = "thread/searchOccurrences":
            ThreadSearchOccurrencesParams => ThreadSearchOccurrencesResponse;
        /// Pages through everything that happened in a thread.
        #[experimental]
        ThreadTimelineList = "thread/timeline/list":
            ThreadTimelineListParams => ThreadTimelineListResponse;
        /// Marks a thread as read or unread.
        #[experimental]
        ThreadReadStateUpdate = "thread/readState/update":
            ThreadReadStateUpdateParams => ThreadReadStateUpdateResponse;
        /// Lists what files were before turns of a thread changed them.
        #[experimental]
        ThreadCheckpointList = "thread/checkpoint/list":
            ThreadCheckpointListParams => ThreadCheckpointListResponse;
        /// Shows what differs between a checkpoint and another one, or now.
        #[experimental]
        ThreadCheckpointDiff = "thread/checkpoint/diff":
            ThreadCheckpointDiffParams => ThreadCheckpointDiffResponse;
        /// Makes files, the conversation or both what they were before a checkpoint.
        #[experimental]
        ThreadCheckpointRestore = "thread/checkpoint/restore":
            ThreadCheckpointRestoreParams => ThreadCheckpointRestoreResponse;
        /// Takes a turn and all after it out of a thread's history.
        ThreadRevert = "thread/revert": ThreadRevertParams => ThreadRevertResponse;
        /// Moves a thread to a section, or out of it.
        ThreadSectionMove = "thread/section/move":
            ThreadSectionMoveParams => ThreadSectionMoveResponse;
        /// Creates a section.
        ThreadSectionCreate = "threadSection/create":
            ThreadSectionCreateParams => ThreadSectionCreateResponse;
        /// Deletes a section; its threads stay.
        ThreadSectionDelete = "threadSection/delete":
            ThreadSectionDeleteParams => ThreadSectionDeleteResponse;
        /// Lists the sections.
        ThreadSectionList = "threadSection/list":
            ThreadSectionListParams => ThreadSectionListResponse;
        /// Changes a section.
        ThreadSectionUpdate = "threadSection/update":
            ThreadSectionUpdateParams => ThreadSectionUpdateResponse;
        /// Ends a process of the client.
        #[experimental]
        ProcessKill = "process/kill": ProcessKillParams => ProcessKillResponse;
        /// Changes the terminal size of a process of the client.
        #[experimental]
        ProcessResizePty = "process/resizePty": ProcessResizePtyParams => ProcessResizePtyResponse;
        /// Starts a process for the client, outside of any sandbox.
        #[experimental]
        ProcessSpawn = "process/spawn": ProcessSpawnParams => ProcessSpawnResponse;
        /// Writes to the input of a process of the client, or closes it.
        #[experimental]
        ProcessWriteStdin = "process/writeStdin":
            ProcessWriteStdinParams => ProcessWriteStdinResponse;
        /// Calls a tool of an MCP server, without a turn.
        McpServerToolCall = "mcpServer/tool/call":
            McpServerToolCallParams => McpServerToolCallResponse;
        /// Reads a resource of an MCP server.
        McpServerResourceRead = "mcpServer/resource/read":
            McpResourceReadParams => McpResourceReadResponse;
        /// Lists the model providers.
        ModelProviderList = "modelProvider/list":
            ModelProviderListParams => ModelProviderListResponse;
        /// Reads what the provider can do besides text.
        ModelProviderCapabilitiesRead = "modelProvider/capabilities/read":
            ModelProviderCapabilitiesReadParams => ModelProviderCapabilitiesReadResponse;
        /// Changes how a provider is used.
        ModelProviderConfigWrite = "modelProvider/config/write":
            ModelProviderConfigWriteParams => ModelProviderConfigWriteResponse;
        /// Lists the apps that are installed.
        AppInstalled = "app/installed": AppsInstalledParams => AppsInstalledResponse;
        /// Describes apps by their ids.
        AppRead = "app/read": AppsReadParams => AppsReadResponse;
        /// Compares the installed plugins with the remote catalog.
        PluginReconcile = "plugin/reconcile": PluginReconcileParams => PluginReconcileResponse;
        /// Searches the remote catalog of plugins.
        #[experimental]
        PluginSearch = "plugin/search": PluginSearchParams => PluginSearchResponse;
        /// Brings Git marketplaces up to date.
        MarketplaceUpgrade = "marketplace/upgrade":
            MarketplaceUpgradeParams => MarketplaceUpgradeResponse;
        /// Adds a marketplace of plugins.
        MarketplaceAdd = "marketplace/add": MarketplaceAddParams => MarketplaceAddResponse;
        /// Removes a marketplace of plugins.
        MarketplaceRemove = "marketplace/remove":
            MarketplaceRemoveParams => MarketplaceRemoveResponse;
        /// Lists the voices of live conversations.
        #[experimental]
        ThreadRealtimeListVoices = "thread/realtime/listVoices":
            ThreadRealtimeListVoicesParams => ThreadRealtimeListVoicesResponse;
        /// Has the voice model say a text.
        #[experimental]
        ThreadRealtimeAppendSpeech = "thread/realtime/appendSpeech":
            ThreadRealtimeAppendSpeechParams => ThreadRealtimeAppendSpeechResponse;
        /// Lists the imports of another assistant's settings.
        ExternalAgentConfigImportReadHistories = "externalAgentConfig/import/readHistories":
            NoParams => ExternalAgentConfigImportHistoriesReadResponse;
        /// Records an import that a client made.
        ExternalAgentConfigImportRecordHistory = "externalAgentConfig/import/recordHistory":
            ExternalAgentConfigImportHistoryRecordParams => ExternalAgentConfigImportHistoryRecordResponse;
        /// Lists the plugins that are shared.
        PluginShareList = "plugin/share/list": PluginShareListParams => PluginShareListResponse;
        /// Shares a plugin.
        PluginShareSave = "plugin/share/save": PluginShareSaveParams => PluginShareSaveResponse;
        /// Copies a shared plugin to this machine.
        PluginShareCheckout = "plugin/share/checkout":
            PluginShareCheckoutParams => PluginShareCheckoutResponse;
        /// Ends the sharing of a plugin.
        PluginShareDelete = "plugin/share/delete":
            PluginShareDeleteParams => PluginShareDeleteResponse;
        /// Changes whom a plugin is shared with.
        PluginShareUpdateTargets = "plugin/share/updateTargets":
            PluginShareUpdateTargetsParams => PluginShareUpdateTargetsResponse;
        /// Reads a skill of a remote plugin.
        PluginSkillRead = "plugin/skill/read": PluginSkillReadParams => PluginSkillReadResponse;
        /// Subscribes to events of an MCP server.
        #[experimental]
        McpServerEventStreamStart = "mcpServer/event/stream/start":
            McpServerEventStreamStartParams => McpServerEventStreamStartResponse;
        /// Ends a subscription to events of an MCP server.
        #[experimental]
        McpServerEventStreamStop = "mcpServer/event/stream/stop":
            McpServerEventStreamStopParams => McpServerEventStreamStopResponse;
        /// Reads how many tokens the account has used.
        AccountUsageRead = "account/usage/read":
            GetAccountTokenUsageParams => GetAccountTokenUsageResponse;
        /// Reads messages of the workspace's owner.
        AccountWorkspaceMessagesRead = "account/workspaceMessages/read":
            NoParams => GetWorkspaceMessagesResponse;
        /// Reads a notice about the account's security.
        AccountSecuritySetupRead = "account/securitySetup/read":
            NoParams => GetAccountSecuritySetupResponse;
        /// Uses a credit that resets the account's limits.
        AccountRateLimitResetCreditConsume = "account/rateLimitResetCredit/consume":
            ConsumeAccountRateLimitResetCreditParams => ConsumeAccountRateLimitResetCreditResponse;
        /// Asks the owner of the workspace for credits.
        AccountSendAddCreditsNudgeEmail = "account/sendAddCreditsNudgeEmail":
            SendAddCreditsNudgeEmailParams => SendAddCreditsNudgeEmailResponse;
        /// Lists the logins that are kept beside each other.
        #[experimental]
        AccountSessionList = "accountSession/list":
            AccountSessionsListParams => AccountSessionsListResponse;
        /// Changes to another login that is kept.
        #[experimental]
        AccountSessionSwitch = "accountSession/switch":
            AccountSessionsSwitchParams => AccountSessionsSwitchResponse;
        /// Reads whether the gateway needs a login.
        AccountGatewayOAuthRead = "account/gatewayOAuth/read":
            GatewayOAuthReadParams => GatewayOAuthReadResponse;
        /// Starts a login to a gateway.
        AccountGatewayOAuthLogin = "account/gatewayOAuth/login":
            GatewayOAuthLoginParams => GatewayOAuthLoginResponse;
        /// Gives up a login to a gateway.
        AccountGatewayOAuthCancel = "account/gatewayOAuth/cancel":
            NoParams => GatewayOAuthCancelResponse;
        /// Checks whether the credentials of Amazon Bedrock belong to a government cloud.
        #[experimental]
        AccountBedrockCheckGovCloudRequirements = "account/bedrock/checkGovCloudRequirements":
            BedrockCheckGovCloudRequirementsParams => BedrockCheckGovCloudRequirementsResponse;
        /// Lists credentials for Amazon Bedrock that are on this machine.
        #[experimental]
        AccountBedrockDiscover = "account/bedrock/discover":
            BedrockDiscoverParams => BedrockDiscoverResponse;
        /// Sets the credentials for Amazon Bedrock.
        #[experimental]
        AccountBedrockSetup = "account/bedrock/setup": BedrockSetupParams => BedrockSetupResponse;
        /// Sets the credentials for Google Cloud.
        #[experimental]
        AccountGcpSetup = "account/gcp/setup": GcpSetupParams => GcpSetupResponse;
        /// Reads whether the user can be verified.
        #[experimental]
        UserVerificationStatus = "userVerification/status":
            UserVerificationStatusParams => UserVerificationStatusResponse;
        /// Creates a credential of the user.
        #[experimental]
        UserVerificationEnroll = "userVerification/enroll":
            UserVerificationEnrollParams => UserVerificationEnrollResponse;
        /// Has the user prove to be present.
        #[experimental]
        UserVerificationVerify = "userVerification/verify":
            UserVerificationVerifyParams => UserVerificationVerifyResponse;
        /// Deletes the credential of the user.
        #[experimental]
        UserVerificationDelete = "userVerification/delete":
            UserVerificationDeleteParams => UserVerificationDeleteResponse;
        /// Gives up a verification of the user.
        #[experimental]
        UserVerificationCancel = "userVerification/cancel":
            UserVerificationCancelParams => UserVerificationCancelResponse;
        /// Reads whether this server can be controlled from elsewhere.
        #[experimental]
        RemoteControlStatusRead = "remoteControl/status/read":
            NoParams => RemoteControlStatusReadResponse;
        /// Allows control from elsewhere.
        #[experimental]
        RemoteControlEnable = "remoteControl/enable": NoParams => RemoteControlEnableResponse;
        /// Ends control from elsewhere.
        #[experimental]
        RemoteControlDisable = "remoteControl/disable": NoParams => RemoteControlDisableResponse;
        /// Lists the clients that control this server from elsewhere.
        #[experimental]
        RemoteControlClientList = "remoteControl/client/list":
            RemoteControlClientsListParams => RemoteControlClientsListResponse;
        /// Forgets a client that controls this server from elsewhere.
        #[experimental]
        RemoteControlClientRevoke = "remoteControl/client/revoke":
            RemoteControlClientsRevokeParams => RemoteControlClientsRevokeResponse;
        /// Makes a code that pairs a client.
        #[experimental]
        RemoteControlPairingStart = "remoteControl/pairing/start":
            RemoteControlPairingStartParams => RemoteControlPairingStartResponse;
        /// Reads whether a code was used.
        #[experimental]
        RemoteControlPairingStatus = "remoteControl/pairing/status":
            RemoteControlPairingStatusParams => RemoteControlPairingStatusResponse;
        /// Reads figures of the server.
        #[experimental]
        ServerDiagnostics = "server/diagnostics":
            ServerDiagnosticsParams => ServerDiagnosticsResponse;
        /// Makes the files of old threads smaller.
        #[experimental]
        RolloutCompress = "rollout/compress": NoParams => RolloutCompressResponse;
        /// Describes a machine to work on.
        #[experimental]
        EnvironmentInfo = "environment/info": EnvironmentInfoParams => EnvironmentInfoResponse;
        /// Reads whether a machine can be used.
        #[experimental]
        EnvironmentStatus = "environment/status":
            EnvironmentStatusParams => EnvironmentStatusResponse;
        /// Registers a remote machine to work on.
        #[experimental]
        EnvironmentAdd = "environment/add": EnvironmentAddParams => EnvironmentAddResponse;
        /// Reads whether there are memories.
        #[experimental]
        MemoryStatus = "memory/status": MemoryStatusParams => MemoryStatusResponse;
        /// Forgets all memories.
        #[experimental]
        MemoryReset = "memory/reset": NoParams => MemoryResetResponse;
        /// Reads what is remembered of a thread.
        #[experimental]
        ThreadMemoryRead = "thread/memory/read": ThreadMemoryReadParams => ThreadMemoryReadResponse;
        /// Sets whether memories are made of a thread.
        #[experimental]
        ThreadMemoryModeSet = "thread/memoryMode/set":
            ThreadMemoryModeSetParams => ThreadMemoryModeSetResponse;
        /// Reads whether the sandbox on Windows is set up.
        WindowsSandboxReadiness = "windowsSandbox/readiness":
            NoParams => WindowsSandboxReadinessResponse;
    }

    server_requests {
        /// Asks whether a command may run.
        CommandExecutionRequestApproval = "item/commandExecution/requestApproval":
            CommandExecutionRequestApprovalParams => CommandExecutionRequestApprovalResponse;
        /// Asks whether a patch may be applied.
        FileChangeRequestApproval = "item/fileChange/requestApproval":
            FileChangeRequestApprovalParams => FileChangeRequestApprovalResponse;
        /// Puts questions of the model to the user.
        ToolRequestUserInput = "item/tool/requestUserInput":
            ToolRequestUserInputParams => ToolRequestUserInputResponse;
        /// Passes on a question of an MCP server.
        McpServerElicitationRequest = "mcpServer/elicitation/request":
            McpServerElicitationRequestParams => McpServerElicitationRequestResponse;
        /// Asks for permissions beyond those of the sandbox.
        PermissionsRequestApproval = "item/permissions/requestApproval":
            PermissionsRequestApprovalParams => PermissionsRequestApprovalResponse;
        /// Has the client run one of the tools that it brought along.
        DynamicToolCall = "item/tool/call": DynamicToolCallParams => DynamicToolCallResponse;
        /// Runs a hook that the client has registered.
        HookRun = "hook/run": HookRunParams => HookRunResponse;
        /// Asks the client, who holds the login, for new tokens.
        ChatgptAuthTokensRefresh = "account/chatgptAuthTokens/refresh":
            ChatgptAuthTokensRefreshParams => ChatgptAuthTokensRefreshResponse;
        /// Asks whether a patch may be applied; the older form, for older threads.
        ApplyPatchApproval = "applyPatchApproval":
            ApplyPatchApprovalParams => ApplyPatchApprovalResponse;
        /// Asks whether a command may run; the older form, for older threads.
        ExecCommandApproval = "execCommandApproval":
            ExecCommandApprovalParams => ExecCommandApprovalResponse;
        /// Asks the client for a proof of what it is.
        AttestationGenerate = "attestation/generate":
            AttestationGenerateParams => AttestationGenerateResponse;
        /// Asks the client for its time.
        #[experimental]
        CurrentTimeRead = "currentTime/read": CurrentTimeReadParams => CurrentTimeReadResponse;
    }

    server_notifications {
        /// Something went wrong in a turn; it may be tried again.
        Error = "error": ErrorNotification;
        /// A thread was started, forked or loaded.
        ThreadStarted = "thread/started": ThreadStartedNotification;
        /// A loaded thread became active, idle or unusable.
        ThreadStatusChanged = "thread/status/changed": ThreadStatusChangedNotification;
        /// A thread was archived.
        ThreadArchived = "thread/archived": ThreadArchivedNotification;
        /// A thread was brought back from the archive.
        ThreadUnarchived = "thread/unarchived": ThreadUnarchivedNotification;
        /// A thread was removed for good.
        ThreadDeleted = "thread/deleted": ThreadDeletedNotification;
        /// A thread was unloaded.
        ThreadClosed = "thread/closed": ThreadClosedNotification;
        /// Skill files changed on disk.
        SkillsChanged = "skills/changed": SkillsChangedNotification;
        /// A thread has another name.
        ThreadNameUpdated = "thread/name/updated": ThreadNameUpdatedNotification;
        /// A thread is set to something else.
        ThreadSettingsUpdated = "thread/settings/updated": ThreadSettingsUpdatedNotification;
        /// A thread's token count changed.
        ThreadTokenUsageUpdated = "thread/tokenUsage/updated": ThreadTokenUsageUpdatedNotification;
        /// A turn began.
        TurnStarted = "turn/started": TurnStartedNotification;
        /// A hook began to run.
        HookStarted = "hook/started": HookStartedNotification;
        /// A turn ended: completed, interrupted or failed.
        TurnCompleted = "turn/completed": TurnCompletedNotification;
        /// A hook ended.
        HookCompleted = "hook/completed": HookCompletedNotification;
        /// What the turn's patches changed so far, as one diff.
        TurnDiffUpdated = "turn/diff/updated": TurnDiffUpdatedNotification;
        /// The model's plan for the turn changed.
        TurnPlanUpdated = "turn/plan/updated": TurnPlanUpdatedNotification;
        /// An item began.
        ItemStarted = "item/started": ItemStartedNotification;
        /// An automatic reviewer began to judge an approval.
        ItemGuardianApprovalReviewStarted = "item/autoApprovalReview/started":
            ItemGuardianApprovalReviewStartedNotification;
        /// An automatic reviewer has judged an approval.
        ItemGuardianApprovalReviewCompleted = "item/autoApprovalReview/completed":
            ItemGuardianApprovalReviewCompletedNotification;
        /// An item ended; this is its final form.
        ItemCompleted = "item/completed": ItemCompletedNotification;
        /// An item of the model's own stream, as it is, for clients that asked for it.
        RawResponseItemCompleted = "rawResponseItem/completed": RawResponseItemCompletedNotification;
        /// More text of a message.
        AgentMessageDelta = "item/agentMessage/delta": AgentMessageDeltaNotification;
        /// More text of a proposed plan.
        PlanDelta = "item/plan/delta": PlanDeltaNotification;
        /// More output of a command started with `command/exec`.
        CommandExecOutputDelta = "command/exec/outputDelta": CommandExecOutputDeltaNotification;
        /// More output of a command of the model.
        CommandExecutionOutputDelta = "item/commandExecution/outputDelta":
            CommandExecutionOutputDeltaNotification;
        /// The model typed into a terminal.
        TerminalInteraction = "item/commandExecution/terminalInteraction":
            TerminalInteractionNotification;
        /// More output of a patch being applied.
        FileChangeOutputDelta = "item/fileChange/outputDelta": FileChangeOutputDeltaNotification;
        /// A request of the server needs no answer any more.
        ServerRequestResolved = "serverRequest/resolved": ServerRequestResolvedNotification;
        /// News from an MCP tool that is running.
        McpToolCallProgress = "item/mcpToolCall/progress": McpToolCallProgressNotification;
        /// The OAuth login of an MCP server ended.
        McpServerOauthLoginCompleted = "mcpServer/oauthLogin/completed":
            McpServerOauthLoginCompletedNotification;
        /// An MCP server is starting, is ready or failed.
        McpServerStatusUpdated = "mcpServer/startupStatus/updated":
            McpServerStatusUpdatedNotification;
        /// Somebody logged in or out.
        AccountUpdated = "account/updated": AccountUpdatedNotification;
        /// How much of the account's limits is used changed.
        AccountRateLimitsUpdated = "account/rateLimits/updated":
            AccountRateLimitsUpdatedNotification;
        /// The list of apps changed.
        AppListUpdated = "app/list/updated": AppListUpdatedNotification;
        /// Something changed below a watched path.
        FsChanged = "fs/changed": FsChangedNotification;
        /// More of a summary of the model's reasoning.
        ReasoningSummaryTextDelta = "item/reasoning/summaryTextDelta":
            ReasoningSummaryTextDeltaNotification;
        /// Another part of the reasoning summary begins.
        ReasoningSummaryPartAdded = "item/reasoning/summaryPartAdded":
            ReasoningSummaryPartAddedNotification;
        /// More of the model's reasoning itself, where the provider shows it.
        ReasoningTextDelta = "item/reasoning/textDelta": ReasoningTextDeltaNotification;
        /// A thread's history was compacted; the older form of the `contextCompaction` item.
        ContextCompacted = "thread/compacted": ContextCompactedNotification;
        /// The provider answers with another model than the one asked for.
        ModelRerouted = "model/rerouted": ModelReroutedNotification;
        /// Something went otherwise than asked, and work goes on.
        Warning = "warning": WarningNotification;
        /// Something that is in use will go away.
        DeprecationNotice = "deprecationNotice": DeprecationNoticeNotification;
        /// A configuration file has a problem that did not stop the server.
        ConfigWarning = "configWarning": ConfigWarningNotification;
        /// An open file search has new results.
        FuzzyFileSearchSessionUpdated = "fuzzyFileSearch/sessionUpdated":
            FuzzyFileSearchSessionUpdatedNotification;
        /// An open file search has all its results.
        FuzzyFileSearchSessionCompleted = "fuzzyFileSearch/sessionCompleted":
            FuzzyFileSearchSessionCompletedNotification;
        /// A live conversation is open.
        ThreadRealtimeStarted = "thread/realtime/started": ThreadRealtimeStartedNotification;
        /// An item of the live conversation that has no notification of its own.
        ThreadRealtimeItemAdded = "thread/realtime/itemAdded": ThreadRealtimeItemAddedNotification;
        /// More text of what is being said.
        ThreadRealtimeTranscriptUpdated = "thread/realtime/transcriptUpdated":
            ThreadRealtimeTranscriptUpdatedNotification;
        /// More audio of what is being said.
        ThreadRealtimeOutputAudioDelta = "thread/realtime/outputAudio/delta":
            ThreadRealtimeOutputAudioDeltaNotification;
        /// The live conversation has a problem.
        ThreadRealtimeError = "thread/realtime/error": ThreadRealtimeErrorNotification;
        /// The live conversation is closed.
        ThreadRealtimeClosed = "thread/realtime/closed": ThreadRealtimeClosedNotification;
        /// Folders on Windows can be written by everybody, which a sandbox cannot mend.
        WindowsWorldWritableWarning = "windows/worldWritableWarning":
            WindowsWorldWritableWarningNotification;
        /// Preparing the Windows sandbox ended.
        WindowsSandboxSetupCompleted = "windowsSandbox/setupCompleted":
            WindowsSandboxSetupCompletedNotification;
        /// A login ended, well or not.
        AccountLoginCompleted = "account/login/completed": AccountLoginCompletedNotification;
        /// A login to a gateway went on.
        AccountGatewayOAuthChanged = "account/gatewayOAuth/changed":
            GatewayOAuthChangedNotification;
        /// The rest of a turn is reviewed strictly.
        AutoApprovalReviewStrictReviewRequired = "autoApprovalReview/strictReviewRequired":
            StrictReviewRequiredNotification;
        /// An import of another assistant's settings ended.
        ExternalAgentConfigImportCompleted = "externalAgentConfig/import/completed":
            ExternalAgentConfigImportCompletedNotification;
        /// An import of another assistant's settings went on.
        ExternalAgentConfigImportProgress = "externalAgentConfig/import/progress":
            ExternalAgentConfigImportProgressNotification;
        /// The automatic reviewer warns of an action.
        GuardianWarning = "guardianWarning": GuardianWarningNotification;
        /// A patch that the model is writing went on.
        ItemFileChangePatchUpdated = "item/fileChange/patchUpdated":
            FileChangePatchUpdatedNotification;
        /// An event of an MCP server.
        McpServerEventStreamNotification = "mcpServer/event/stream/notification":
            McpServerEventStreamNotification;
        /// The provider checks an answer before it shows it.
        ModelSafetyBufferingUpdated = "model/safetyBuffering/updated":
            ModelSafetyBufferingUpdatedNotification;
        /// The provider verified a request.
        ModelVerification = "model/verification": ModelVerificationNotification;
        /// A login to a provider was renewed.
        ModelProviderAuthRecoveryCompleted = "modelProvider/authRecoveryCompleted":
            AuthRecoveryNotification;
        /// A login to a provider is being renewed.
        ModelProviderAuthRecoveryStarted = "modelProvider/authRecoveryStarted":
            AuthRecoveryNotification;
        /// A process of the client ended.
        ProcessExited = "process/exited": ProcessExitedNotification;
        /// More output of a process of the client.
        ProcessOutputDelta = "process/outputDelta": ProcessOutputDeltaNotification;
        /// A project was created, changed or deleted.
        ProjectChanged = "project/changed": ProjectChangedNotification;
        /// Whether this server can be controlled from elsewhere changed; also sent after `initialize`.
        RemoteControlStatusChanged = "remoteControl/status/changed":
            RemoteControlStatusChangedNotification;
        /// A record on a thread was added or removed.
        ThreadAttachmentUpdated = "thread/attachment/updated": ThreadAttachmentUpdatedNotification;
        /// A remote machine of a thread can be used.
        ThreadEnvironmentConnected = "thread/environment/connected":
            EnvironmentConnectionNotification;
        /// A remote machine of a thread cannot be used any more.
        ThreadEnvironmentDisconnected = "thread/environment/disconnected":
            EnvironmentConnectionNotification;
        /// A thread has no goal any more, or has none when it is resumed.
        ThreadGoalCleared = "thread/goal/cleared": ThreadGoalClearedNotification;
        /// The goal of a thread changed.
        ThreadGoalUpdated = "thread/goal/updated": ThreadGoalUpdatedNotification;
        /// A guess at the next message changed.
        ThreadPredictionUpdated = "thread/prediction/updated": ThreadPredictionUpdatedNotification;
        /// A thread was filed under another project.
        ThreadProjectUpdated = "thread/project/updated": ThreadProjectUpdatedNotification;
        /// The queue of a thread changed.
        ThreadQueueChanged = "thread/queue/changed": ThreadQueueChangedNotification;
        /// What of a thread is unread changed.
        ThreadReadStateChanged = "thread/readState/changed": ThreadReadStateChangedNotification;
        /// An item of the live conversation ended.
        ThreadRealtimeItemCompleted = "thread/realtime/item/completed":
            ThreadRealtimeItemCompletedNotification;
        /// An item of the live conversation began.
        ThreadRealtimeItemStarted = "thread/realtime/item/started":
            ThreadRealtimeItemStartedNotification;
        /// More text of an item of the live conversation.
        ThreadRealtimeItemTranscriptDelta = "thread/realtime/item/transcript/delta":
            ThreadRealtimeItemTranscriptDeltaNotification;
        /// The description of the live conversation's session.
        ThreadRealtimeSdp = "thread/realtime/sdp": ThreadRealtimeSdpNotification;
        /// More text of what is being spoken.
        ThreadRealtimeTranscriptDelta = "thread/realtime/transcript/delta":
            ThreadRealtimeTranscriptDeltaNotification;
        /// The text of what was spoken.
        ThreadRealtimeTranscriptDone = "thread/realtime/transcript/done":
            ThreadRealtimeTranscriptDoneNotification;
        /// A turn has changed files, and what they were before is kept.
        ThreadCheckpointCreated = "thread/checkpoint/created":
            ThreadCheckpointCreatedNotification;
        /// Files of a thread became what they were before a checkpoint.
        ThreadCheckpointRestored = "thread/checkpoint/restored":
            ThreadCheckpointRestoredNotification;
        /// Turns were taken out of a thread's history.
        ThreadReverted = "thread/reverted": ThreadRevertedNotification;
        /// A thread was moved to another section.
        ThreadSectionChanged = "thread/section/changed": ThreadSectionChangedNotification;
        /// What the provider's moderation says about a turn.
        TurnModerationMetadata = "turn/moderationMetadata": TurnModerationMetadataNotification;
    }

    client_notifications {
        /// The client has read the reply to `initialize` and is ready.
        Initialized = "initialized": NoParams;
    }
}
