//! The table of methods: every method once, with its params, its response and its stability.
//!
//! The enums of requests and notifications, the dispatch types, the exporters and the tables in the
//! documentation all come from these rows. `#[experimental]` on a row means that a client must
//! opt in with `capabilities.experimentalApi` before it may use the method.

use crate::method_table::NoParams;
use crate::method_table::method_table;
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
        /// Adds input to the turn that is running.
        TurnSteer = "turn/steer": TurnSteerParams => TurnSteerResponse;
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
        /// Asks the client, who holds the login, for new tokens.
        ChatgptAuthTokensRefresh = "account/chatgptAuthTokens/refresh":
            ChatgptAuthTokensRefreshParams => ChatgptAuthTokensRefreshResponse;
        /// Asks whether a patch may be applied; the older form, for older threads.
        ApplyPatchApproval = "applyPatchApproval":
            ApplyPatchApprovalParams => ApplyPatchApprovalResponse;
        /// Asks whether a command may run; the older form, for older threads.
        ExecCommandApproval = "execCommandApproval":
            ExecCommandApprovalParams => ExecCommandApprovalResponse;
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
    }

    client_notifications {
        /// The client has read the reply to `initialize` and is ready.
        Initialized = "initialized": NoParams;
    }
}
