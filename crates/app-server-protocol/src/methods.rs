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
        #[since("0.140")]
        #[experimental]
        ThreadSettingsUpdate = "thread/settings/update":
            ThreadSettingsUpdateParams => ThreadSettingsUpdateResponse;
        /// Brings an archived thread back into the default list.
        ThreadUnarchive = "thread/unarchive": ThreadUnarchiveParams => ThreadUnarchiveResponse;
        /// Removes a stored thread for good, in use or archived.
        #[since("0.140")]
        ThreadDelete = "thread/delete": ThreadDeleteParams => ThreadDeleteResponse;
        /// Replaces the older part of a thread's history by a summary; progress comes as a turn.
        ThreadCompactStart = "thread/compact/start":
            ThreadCompactStartParams => ThreadCompactStartResponse;
        /// Runs a command line of the user in a thread, outside its sandbox.
        ThreadShellCommand = "thread/shellCommand":
            ThreadShellCommandParams => ThreadShellCommandResponse;
        /// Asks the model once with the context of a thread; neither the thread nor its clients notice.
        #[since("0.169")]
        #[experimental]
        ThreadSample = "thread/sample": ThreadSampleParams => ThreadSampleResponse;
        /// Gives up a `thread/sample` of the same connection.
        #[since("0.169")]
        #[experimental]
        ThreadSampleCancel = "thread/sample/cancel":
            ThreadSampleCancelParams => ThreadSampleCancelResponse;
        /// Puts an approved plan into the context of a thread.
        #[since("0.169")]
        #[experimental]
        ThreadPrepareApprovedPlan = "thread/prepareApprovedPlan":
            ThreadPrepareApprovedPlanParams => ThreadPrepareApprovedPlanResponse;
        /// Asks for a guess at the next message.
        #[since("0.169")]
        #[experimental]
        ThreadPredictionRequest = "thread/prediction/request":
            ThreadPredictionRequestParams => ThreadPredictionRequestResponse;
        /// Lets an action go on that the automatic reviewer denied.
        #[since("0.140")]
        ThreadApproveGuardianDeniedAction = "thread/approveGuardianDeniedAction":
            ThreadApproveGuardianDeniedActionParams => ThreadApproveGuardianDeniedActionResponse;
        /// Has the automatic reviewer judge the last call of a thread.
        #[since("0.169")]
        #[experimental]
        ThreadGuardianReview = "thread/guardianReview":
            ThreadGuardianReviewParams => ThreadGuardianReviewResponse;
        /// Ends every terminal that still runs in the background of a thread.
        #[experimental]
        ThreadBackgroundTerminalsClean = "thread/backgroundTerminals/clean":
            ThreadBackgroundTerminalsCleanParams => ThreadBackgroundTerminalsCleanResponse;
        /// Lists the terminals that still run in the background of a thread.
        #[since("0.140")]
        #[experimental]
        ThreadBackgroundTerminalsList = "thread/backgroundTerminals/list":
            ThreadBackgroundTerminalsListParams => ThreadBackgroundTerminalsListResponse;
        /// Ends one terminal that still runs in the background of a thread.
        #[since("0.140")]
        #[experimental]
        ThreadBackgroundTerminalsTerminate = "thread/backgroundTerminals/terminate":
            ThreadBackgroundTerminalsTerminateParams => ThreadBackgroundTerminalsTerminateResponse;
        /// Takes the last turns out of a thread's history; files stay as they are.
        #[until("0.140")]
        ThreadRollback = "thread/rollback": ThreadRollbackParams => ThreadRollbackResponse;
        /// Pages through the stored threads.
        ThreadList = "thread/list": ThreadListParams => ThreadListResponse;
        /// Lists the ids of the threads that are in memory.
        ThreadLoadedList = "thread/loaded/list": ThreadLoadedListParams => ThreadLoadedListResponse;
        /// Reads a thread without loading it, with its turns if asked.
        ThreadRead = "thread/read": ThreadReadParams => ThreadReadResponse;
        /// Pages through the turns of a thread, from either end.
        #[since("0.140")]
        ThreadTurnsList = "thread/turns/list": ThreadTurnsListParams => ThreadTurnsListResponse;
        /// Pages through the items of a thread, from either end.
        #[since("0.169")]
        ThreadItemsList = "thread/items/list": ThreadItemsListParams => ThreadItemsListResponse;
        /// Pages through the items of a turn, from either end.
        #[since("0.140")]
        #[until("0.140")]
        #[experimental]
        ThreadTurnsItemsList = "thread/turns/items/list":
            ThreadTurnsItemsListParams => ThreadTurnsItemsListResponse;
        /// Puts items into what the model of a thread sees, without a turn.
        #[since("0.140")]
        ThreadInjectItems = "thread/inject_items":
            ThreadInjectItemsParams => ThreadInjectItemsResponse;
        /// Reads what a thread works towards.
        #[since("0.140")]
        ThreadGoalGet = "thread/goal/get": ThreadGoalGetParams => ThreadGoalGetResponse;
        /// Lists the skills found for one or more folders.
        SkillsList = "skills/list": SkillsListParams => SkillsListResponse;
        /// Lists the plugin marketplaces and what they offer.
        PluginList = "plugin/list": PluginListParams => PluginListResponse;
        /// Lists the plugins that are installed.
        #[since("0.140")]
        PluginInstalled = "plugin/installed": PluginInstalledParams => PluginInstalledResponse;
        /// Describes one plugin in full.
        PluginRead = "plugin/read": PluginReadParams => PluginReadResponse;
        /// Lists the hooks found for one or more folders.
        #[since("0.140")]
        HooksList = "hooks/list": HooksListParams => HooksListResponse;
        /// Registers this connection for a hook: it is asked with `hook/run`.
        #[since("own")]
        #[experimental]
        HooksRegister = "hooks/register": HooksRegisterParams => HooksRegisterResponse;
        /// Takes a registration for a hook back.
        #[since("own")]
        #[experimental]
        HooksUnregister = "hooks/unregister": HooksUnregisterParams => HooksUnregisterResponse;
        /// Pages through the permissions that a thread can be given by name.
        #[since("0.140")]
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
        #[since("0.140")]
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
        #[since("own")]
        #[experimental]
        TurnContinue = "turn/continue": TurnContinueParams => TurnContinueResponse;
        /// Adds input to the turn that is running.
        TurnSteer = "turn/steer": TurnSteerParams => TurnSteerResponse;
        /// Changes the settings of the running turn alone.
        #[since("0.169")]
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
        #[since("0.169")]
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
        #[since("0.169")]
        #[experimental]
        ProjectCreate = "project/create": ProjectCreateParams => ProjectCreateResponse;
        /// Deletes a project; its threads stay.
        #[since("0.169")]
        #[experimental]
        ProjectDelete = "project/delete": ProjectDeleteParams => ProjectDeleteResponse;
        /// Creates a project with threads.
        #[since("0.169")]
        #[experimental]
        ProjectImport = "project/import": ProjectImportParams => ProjectImportResponse;
        /// Pages through the projects.
        #[since("0.169")]
        #[experimental]
        ProjectList = "project/list": ProjectListParams => ProjectListResponse;
        /// Changes the position of a project.
        #[since("0.169")]
        #[experimental]
        ProjectMove = "project/move": ProjectMoveParams => ProjectMoveResponse;
        /// Reads a project.
        #[since("0.169")]
        #[experimental]
        ProjectRead = "project/read": ProjectReadParams => ProjectReadResponse;
        /// Changes a project.
        #[since("0.169")]
        #[experimental]
        ProjectUpdate = "project/update": ProjectUpdateParams => ProjectUpdateResponse;
        /// Adds a record of the client to a thread.
        #[since("0.169")]
        ThreadAttachmentAdd = "thread/attachment/add":
            ThreadAttachmentAddParams => ThreadAttachmentAddResponse;
        /// Lists the records on a thread.
        #[since("0.169")]
        ThreadAttachmentList = "thread/attachment/list":
            ThreadAttachmentListParams => ThreadAttachmentListResponse;
        /// Removes a record from a thread.
        #[since("0.169")]
        ThreadAttachmentRemove = "thread/attachment/remove":
            ThreadAttachmentRemoveParams => ThreadAttachmentRemoveResponse;
        /// Lists the threads with a record.
        #[since("0.169")]
        ThreadAttachmentOwnerList = "thread/attachmentOwner/list":
            ThreadAttachmentOwnerListParams => ThreadAttachmentOwnerListResponse;
        /// Removes the goal of a thread.
        #[since("0.140")]
        ThreadGoalClear = "thread/goal/clear": ThreadGoalClearParams => ThreadGoalClearResponse;
        /// Sets or changes what a thread works towards.
        #[since("0.140")]
        ThreadGoalSet = "thread/goal/set": ThreadGoalSetParams => ThreadGoalSetResponse;
        /// Reads items of a turn by their ids.
        #[since("0.169")]
        #[experimental]
        ThreadItemsRead = "thread/items/read": ThreadItemsReadParams => ThreadItemsReadResponse;
        /// Adds a message that waits for the running turn to end.
        #[since("0.169")]
        #[experimental]
        ThreadQueueAdd = "thread/queue/add": ThreadQueueAddParams => ThreadQueueAddResponse;
        /// Removes a message from the queue.
        #[since("0.169")]
        #[experimental]
        ThreadQueueDelete = "thread/queue/delete":
            ThreadQueueDeleteParams => ThreadQueueDeleteResponse;
        /// Pages through the queue of a thread.
        #[since("0.169")]
        #[experimental]
        ThreadQueueList = "thread/queue/list": ThreadQueueListParams => ThreadQueueListResponse;
        /// Changes the order of the queue.
        #[since("0.169")]
        #[experimental]
        ThreadQueueReorder = "thread/queue/reorder":
            ThreadQueueReorderParams => ThreadQueueReorderResponse;
        /// Starts a message of the queue now.
        #[since("0.169")]
        #[experimental]
        ThreadQueueStart = "thread/queue/start": ThreadQueueStartParams => ThreadQueueStartResponse;
        /// Changes a message of the queue.
        #[since("0.169")]
        #[experimental]
        ThreadQueueUpdate = "thread/queue/update":
            ThreadQueueUpdateParams => ThreadQueueUpdateResponse;
        /// Searches the messages of all threads.
        #[since("0.140")]
        #[experimental]
        ThreadSearch = "thread/search": ThreadSearchParams => ThreadSearchResponse;
        /// The same, with a notification for each thread as it is found.
        #[since("0.171")]
        #[experimental]
        ThreadSearchStream = "thread/search/stream": ThreadSearchParams => ThreadSearchResponse;
        /// Gives up a `thread/search` of the same connection.
        #[since("0.171")]
        #[experimental]
        ThreadSearchCancel = "thread/search/cancel":
            ThreadSearchCancelParams => ThreadSearchCancelResponse;
        /// Gives up a `thread/search/stream` of the same connection.
        #[since("0.171")]
        #[experimental]
        ThreadSearchStreamCancel = "thread/search/stream/cancel":
            ThreadSearchCancelParams => ThreadSearchCancelResponse;
        /// Searches the messages of one thread.
        #[since("0.169")]
        #[experimental]
        ThreadSearchOccurrences = "thread/searchOccurrences":
            ThreadSearchOccurrencesParams => ThreadSearchOccurrencesResponse;
        /// Pages through everything that happened in a thread.
        #[since("0.169")]
        #[experimental]
        ThreadTimelineList = "thread/timeline/list":
            ThreadTimelineListParams => ThreadTimelineListResponse;
        /// Marks a thread as read or unread.
        #[since("0.169")]
        #[experimental]
        ThreadReadStateUpdate = "thread/readState/update":
            ThreadReadStateUpdateParams => ThreadReadStateUpdateResponse;
        /// Says what the context of a loaded thread is made of, in tokens.
        #[since("own")]
        #[experimental]
        ThreadContextRead = "thread/context/read":
            ThreadContextReadParams => ThreadContextReadResponse;
        /// Shows what a compaction of a thread dropped, and its summary.
        #[since("own")]
        #[experimental]
        ThreadCompactionRead = "thread/compaction/read":
            ThreadCompactionReadParams => ThreadCompactionReadResponse;
        /// Brings items back that a compaction dropped, at the end of the history.
        #[since("own")]
        #[experimental]
        ThreadCompactionRestore = "thread/compaction/restore":
            ThreadCompactionRestoreParams => ThreadCompactionRestoreResponse;
        /// Pins a text or that of an item, so that no compaction drops it.
        #[since("own")]
        #[experimental]
        ThreadPinAdd = "thread/pin/add": ThreadPinAddParams => ThreadPinAddResponse;
        /// Lists what is pinned in a thread.
        #[since("own")]
        #[experimental]
        ThreadPinList = "thread/pin/list": ThreadPinListParams => ThreadPinListResponse;
        /// Takes a pin away.
        #[since("own")]
        #[experimental]
        ThreadPinRemove = "thread/pin/remove": ThreadPinRemoveParams => ThreadPinRemoveResponse;
        /// Lists what files were before turns of a thread changed them.
        #[since("own")]
        #[experimental]
        ThreadCheckpointList = "thread/checkpoint/list":
            ThreadCheckpointListParams => ThreadCheckpointListResponse;
        /// Shows what differs between a checkpoint and another one, or now.
        #[since("own")]
        #[experimental]
        ThreadCheckpointDiff = "thread/checkpoint/diff":
            ThreadCheckpointDiffParams => ThreadCheckpointDiffResponse;
        /// Makes files, the conversation or both what they were before a checkpoint.
        #[since("own")]
        #[experimental]
        ThreadCheckpointRestore = "thread/checkpoint/restore":
            ThreadCheckpointRestoreParams => ThreadCheckpointRestoreResponse;
        /// Takes a turn and all after it out of a thread's history.
        #[since("0.169")]
        ThreadRevert = "thread/revert": ThreadRevertParams => ThreadRevertResponse;
        /// Moves a thread to a section, or out of it.
        #[since("0.169")]
        ThreadSectionMove = "thread/section/move":
            ThreadSectionMoveParams => ThreadSectionMoveResponse;
        /// Creates a section.
        #[since("0.169")]
        ThreadSectionCreate = "threadSection/create":
            ThreadSectionCreateParams => ThreadSectionCreateResponse;
        /// Deletes a section; its threads stay.
        #[since("0.169")]
        ThreadSectionDelete = "threadSection/delete":
            ThreadSectionDeleteParams => ThreadSectionDeleteResponse;
        /// Lists the sections.
        #[since("0.169")]
        ThreadSectionList = "threadSection/list":
            ThreadSectionListParams => ThreadSectionListResponse;
        /// Changes a section.
        #[since("0.169")]
        ThreadSectionUpdate = "threadSection/update":
            ThreadSectionUpdateParams => ThreadSectionUpdateResponse;
        /// Ends a process of the client.
        #[since("0.140")]
        #[experimental]
        ProcessKill = "process/kill": ProcessKillParams => ProcessKillResponse;
        /// Changes the terminal size of a process of the client.
        #[since("0.140")]
        #[experimental]
        ProcessResizePty = "process/resizePty": ProcessResizePtyParams => ProcessResizePtyResponse;
        /// Starts a process for the client, outside of any sandbox.
        #[since("0.140")]
        #[experimental]
        ProcessSpawn = "process/spawn": ProcessSpawnParams => ProcessSpawnResponse;
        /// Writes to the input of a process of the client, or closes it.
        #[since("0.140")]
        #[experimental]
        ProcessWriteStdin = "process/writeStdin":
            ProcessWriteStdinParams => ProcessWriteStdinResponse;
        /// Calls a tool of an MCP server, without a turn.
        #[since("0.140")]
        McpServerToolCall = "mcpServer/tool/call":
            McpServerToolCallParams => McpServerToolCallResponse;
        /// Reads a resource of an MCP server.
        #[since("0.140")]
        McpServerResourceRead = "mcpServer/resource/read":
            McpResourceReadParams => McpResourceReadResponse;
        /// Lists the model providers.
        #[since("0.169")]
        ModelProviderList = "modelProvider/list":
            ModelProviderListParams => ModelProviderListResponse;
        /// Reads what the provider can do besides text.
        #[since("0.140")]
        ModelProviderCapabilitiesRead = "modelProvider/capabilities/read":
            ModelProviderCapabilitiesReadParams => ModelProviderCapabilitiesReadResponse;
        /// Changes how a provider is used.
        #[since("0.169")]
        ModelProviderConfigWrite = "modelProvider/config/write":
            ModelProviderConfigWriteParams => ModelProviderConfigWriteResponse;
        /// Chooses the provider of new threads.
        #[since("0.171")]
        ModelProviderDefaultSet = "modelProvider/default/set":
            ModelProviderDefaultSetParams => ConfigWriteResponse;
        /// Lists the apps that are installed.
        #[since("0.169")]
        AppInstalled = "app/installed": AppsInstalledParams => AppsInstalledResponse;
        /// Describes apps by their ids.
        #[since("0.169")]
        AppRead = "app/read": AppsReadParams => AppsReadResponse;
        /// Compares the installed plugins with the remote catalog.
        #[since("0.169")]
        PluginReconcile = "plugin/reconcile": PluginReconcileParams => PluginReconcileResponse;
        /// Searches the remote catalog of plugins.
        #[since("0.169")]
        #[experimental]
        PluginSearch = "plugin/search": PluginSearchParams => PluginSearchResponse;
        /// Brings Git marketplaces up to date.
        #[since("0.140")]
        MarketplaceUpgrade = "marketplace/upgrade":
            MarketplaceUpgradeParams => MarketplaceUpgradeResponse;
        /// Adds a marketplace of plugins.
        #[since("0.140")]
        MarketplaceAdd = "marketplace/add": MarketplaceAddParams => MarketplaceAddResponse;
        /// Removes a marketplace of plugins.
        #[since("0.140")]
        MarketplaceRemove = "marketplace/remove":
            MarketplaceRemoveParams => MarketplaceRemoveResponse;
        /// Lists the voices of live conversations.
        #[since("0.140")]
        #[experimental]
        ThreadRealtimeListVoices = "thread/realtime/listVoices":
            ThreadRealtimeListVoicesParams => ThreadRealtimeListVoicesResponse;
        /// Has the voice model say a text.
        #[since("0.169")]
        #[experimental]
        ThreadRealtimeAppendSpeech = "thread/realtime/appendSpeech":
            ThreadRealtimeAppendSpeechParams => ThreadRealtimeAppendSpeechResponse;
        /// Lists what was said in the live conversations of a thread.
        #[since("0.171")]
        #[experimental]
        ThreadRealtimeList = "thread/realtime/list":
            ThreadRealtimeListParams => ThreadRealtimeListResponse;
        /// Lists the imports of another assistant's settings.
        #[since("0.169")]
        ExternalAgentConfigImportReadHistories = "externalAgentConfig/import/readHistories":
            NoParams => ExternalAgentConfigImportHistoriesReadResponse;
        /// Records an import that a client made.
        #[since("0.169")]
        ExternalAgentConfigImportRecordHistory = "externalAgentConfig/import/recordHistory":
            ExternalAgentConfigImportHistoryRecordParams => ExternalAgentConfigImportHistoryRecordResponse;
        /// Lists the plugins that are shared.
        #[since("0.140")]
        PluginShareList = "plugin/share/list": PluginShareListParams => PluginShareListResponse;
        /// Shares a plugin.
        #[since("0.140")]
        PluginShareSave = "plugin/share/save": PluginShareSaveParams => PluginShareSaveResponse;
        /// Copies a shared plugin to this machine.
        #[since("0.140")]
        PluginShareCheckout = "plugin/share/checkout":
            PluginShareCheckoutParams => PluginShareCheckoutResponse;
        /// Ends the sharing of a plugin.
        #[since("0.140")]
        PluginShareDelete = "plugin/share/delete":
            PluginShareDeleteParams => PluginShareDeleteResponse;
        /// Changes whom a plugin is shared with.
        #[since("0.140")]
        PluginShareUpdateTargets = "plugin/share/updateTargets":
            PluginShareUpdateTargetsParams => PluginShareUpdateTargetsResponse;
        /// Reads a skill of a remote plugin.
        #[since("0.140")]
        PluginSkillRead = "plugin/skill/read": PluginSkillReadParams => PluginSkillReadResponse;
        /// Subscribes to events of an MCP server.
        #[since("0.169")]
        #[experimental]
        McpServerEventStreamStart = "mcpServer/event/stream/start":
            McpServerEventStreamStartParams => McpServerEventStreamStartResponse;
        /// Ends a subscription to events of an MCP server.
        #[since("0.169")]
        #[experimental]
        McpServerEventStreamStop = "mcpServer/event/stream/stop":
            McpServerEventStreamStopParams => McpServerEventStreamStopResponse;
        /// Reads how many tokens the account has used.
        #[since("0.140")]
        AccountUsageRead = "account/usage/read":
            GetAccountTokenUsageParams => GetAccountTokenUsageResponse;
        /// Reads messages of the workspace's owner.
        #[since("0.169")]
        AccountWorkspaceMessagesRead = "account/workspaceMessages/read":
            NoParams => GetWorkspaceMessagesResponse;
        /// Reads a notice about the account's security.
        #[since("0.169")]
        AccountSecuritySetupRead = "account/securitySetup/read":
            NoParams => GetAccountSecuritySetupResponse;
        /// Uses a credit that resets the account's limits.
        #[since("0.169")]
        AccountRateLimitResetCreditConsume = "account/rateLimitResetCredit/consume":
            ConsumeAccountRateLimitResetCreditParams => ConsumeAccountRateLimitResetCreditResponse;
        /// Asks the owner of the workspace for credits.
        #[since("0.140")]
        AccountSendAddCreditsNudgeEmail = "account/sendAddCreditsNudgeEmail":
            SendAddCreditsNudgeEmailParams => SendAddCreditsNudgeEmailResponse;
        /// Lists the logins that are kept beside each other.
        #[since("0.169")]
        #[experimental]
        AccountSessionList = "accountSession/list":
            AccountSessionsListParams => AccountSessionsListResponse;
        /// Changes to another login that is kept.
        #[since("0.169")]
        #[experimental]
        AccountSessionSwitch = "accountSession/switch":
            AccountSessionsSwitchParams => AccountSessionsSwitchResponse;
        /// Reads whether the gateway needs a login.
        #[since("0.169")]
        AccountGatewayOAuthRead = "account/gatewayOAuth/read":
            GatewayOAuthReadParams => GatewayOAuthReadResponse;
        /// Starts a login to a gateway.
        #[since("0.169")]
        AccountGatewayOAuthLogin = "account/gatewayOAuth/login":
            GatewayOAuthLoginParams => GatewayOAuthLoginResponse;
        /// Gives up a login to a gateway.
        #[since("0.169")]
        AccountGatewayOAuthCancel = "account/gatewayOAuth/cancel":
            NoParams => GatewayOAuthCancelResponse;
        /// Checks whether the credentials of Amazon Bedrock belong to a government cloud.
        #[since("0.169")]
        #[experimental]
        AccountBedrockCheckGovCloudRequirements = "account/bedrock/checkGovCloudRequirements":
            BedrockCheckGovCloudRequirementsParams => BedrockCheckGovCloudRequirementsResponse;
        /// Lists credentials for Amazon Bedrock that are on this machine.
        #[since("0.169")]
        #[experimental]
        AccountBedrockDiscover = "account/bedrock/discover":
            BedrockDiscoverParams => BedrockDiscoverResponse;
        /// Sets the credentials for Amazon Bedrock.
        #[since("0.169")]
        #[experimental]
        AccountBedrockSetup = "account/bedrock/setup": BedrockSetupParams => BedrockSetupResponse;
        /// Sets the credentials for Google Cloud.
        #[since("0.169")]
        #[experimental]
        AccountGcpSetup = "account/gcp/setup": GcpSetupParams => GcpSetupResponse;
        /// Reads whether the user can be verified.
        #[since("0.169")]
        #[experimental]
        UserVerificationStatus = "userVerification/status":
            UserVerificationStatusParams => UserVerificationStatusResponse;
        /// Creates a credential of the user.
        #[since("0.169")]
        #[experimental]
        UserVerificationEnroll = "userVerification/enroll":
            UserVerificationEnrollParams => UserVerificationEnrollResponse;
        /// Has the user prove to be present.
        #[since("0.169")]
        #[experimental]
        UserVerificationVerify = "userVerification/verify":
            UserVerificationVerifyParams => UserVerificationVerifyResponse;
        /// Deletes the credential of the user.
        #[since("0.169")]
        #[experimental]
        UserVerificationDelete = "userVerification/delete":
            UserVerificationDeleteParams => UserVerificationDeleteResponse;
        /// Gives up a verification of the user.
        #[since("0.169")]
        #[experimental]
        UserVerificationCancel = "userVerification/cancel":
            UserVerificationCancelParams => UserVerificationCancelResponse;
        /// Reads whether this server can be controlled from elsewhere.
        #[since("0.140")]
        #[experimental]
        RemoteControlStatusRead = "remoteControl/status/read":
            NoParams => RemoteControlStatusReadResponse;
        /// Allows control from elsewhere.
        #[since("0.140")]
        #[experimental]
        RemoteControlEnable = "remoteControl/enable": NoParams => RemoteControlEnableResponse;
        /// Ends control from elsewhere.
        #[since("0.140")]
        #[experimental]
        RemoteControlDisable = "remoteControl/disable": NoParams => RemoteControlDisableResponse;
        /// Lists the clients that control this server from elsewhere.
        #[since("0.140")]
        #[experimental]
        RemoteControlClientList = "remoteControl/client/list":
            RemoteControlClientsListParams => RemoteControlClientsListResponse;
        /// Forgets a client that controls this server from elsewhere.
        #[since("0.140")]
        #[experimental]
        RemoteControlClientRevoke = "remoteControl/client/revoke":
            RemoteControlClientsRevokeParams => RemoteControlClientsRevokeResponse;
        /// Makes a code that pairs a client.
        #[since("0.140")]
        #[experimental]
        RemoteControlPairingStart = "remoteControl/pairing/start":
            RemoteControlPairingStartParams => RemoteControlPairingStartResponse;
        /// Reads whether a code was used.
        #[since("0.140")]
        #[experimental]
        RemoteControlPairingStatus = "remoteControl/pairing/status":
            RemoteControlPairingStatusParams => RemoteControlPairingStatusResponse;
        /// Reads figures of the server.
        #[since("0.169")]
        #[experimental]
        ServerDiagnostics = "server/diagnostics":
            ServerDiagnosticsParams => ServerDiagnosticsResponse;
        /// Makes the files of old threads smaller.
        #[since("0.169")]
        #[experimental]
        RolloutCompress = "rollout/compress": NoParams => RolloutCompressResponse;
        /// Describes a machine to work on.
        #[since("0.169")]
        #[experimental]
        EnvironmentInfo = "environment/info": EnvironmentInfoParams => EnvironmentInfoResponse;
        /// Reads whether a machine can be used.
        #[since("0.169")]
        #[experimental]
        EnvironmentStatus = "environment/status":
            EnvironmentStatusParams => EnvironmentStatusResponse;
        /// Registers a remote machine to work on.
        #[since("0.140")]
        #[experimental]
        EnvironmentAdd = "environment/add": EnvironmentAddParams => EnvironmentAddResponse;
        /// Reads whether there are memories.
        #[since("0.169")]
        #[experimental]
        MemoryStatus = "memory/status": MemoryStatusParams => MemoryStatusResponse;
        /// Forgets all memories.
        #[since("0.140")]
        #[experimental]
        MemoryReset = "memory/reset": NoParams => MemoryResetResponse;
        /// Reads what is remembered of a thread.
        #[since("0.169")]
        #[experimental]
        ThreadMemoryRead = "thread/memory/read": ThreadMemoryReadParams => ThreadMemoryReadResponse;
        /// Sets whether memories are made of a thread.
        #[since("0.140")]
        #[experimental]
        ThreadMemoryModeSet = "thread/memoryMode/set":
            ThreadMemoryModeSetParams => ThreadMemoryModeSetResponse;
        /// Reads whether the sandbox on Windows is set up.
        #[since("0.140")]
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
        #[since("own")]
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
        #[since("0.140")]
        AttestationGenerate = "attestation/generate":
            AttestationGenerateParams => AttestationGenerateResponse;
        /// Asks the client for its time.
        #[since("0.169")]
        #[until("0.170")]
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
        #[since("0.140")]
        ThreadDeleted = "thread/deleted": ThreadDeletedNotification;
        /// A thread was unloaded.
        ThreadClosed = "thread/closed": ThreadClosedNotification;
        /// Skill files changed on disk.
        SkillsChanged = "skills/changed": SkillsChangedNotification;
        /// A thread has another name.
        ThreadNameUpdated = "thread/name/updated": ThreadNameUpdatedNotification;
        /// A thread is set to something else.
        #[since("0.140")]
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
        #[since("0.140")]
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
        #[until("0.117")]
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
        #[since("0.169")]
        AccountGatewayOAuthChanged = "account/gatewayOAuth/changed":
            GatewayOAuthChangedNotification;
        /// The rest of a turn is reviewed strictly.
        #[since("0.169")]
        AutoApprovalReviewStrictReviewRequired = "autoApprovalReview/strictReviewRequired":
            StrictReviewRequiredNotification;
        /// An import of another assistant's settings ended.
        #[since("0.140")]
        ExternalAgentConfigImportCompleted = "externalAgentConfig/import/completed":
            ExternalAgentConfigImportCompletedNotification;
        /// An import of another assistant's settings went on.
        #[since("0.169")]
        ExternalAgentConfigImportProgress = "externalAgentConfig/import/progress":
            ExternalAgentConfigImportProgressNotification;
        /// The automatic reviewer warns of an action.
        #[since("0.140")]
        GuardianWarning = "guardianWarning": GuardianWarningNotification;
        /// A patch that the model is writing went on.
        #[since("0.140")]
        ItemFileChangePatchUpdated = "item/fileChange/patchUpdated":
            FileChangePatchUpdatedNotification;
        /// An event of an MCP server.
        #[since("0.169")]
        McpServerEventStreamNotification = "mcpServer/event/stream/notification":
            McpServerEventStreamNotification;
        /// The provider checks an answer before it shows it.
        #[since("0.169")]
        ModelSafetyBufferingUpdated = "model/safetyBuffering/updated":
            ModelSafetyBufferingUpdatedNotification;
        /// The provider verified a request.
        #[since("0.140")]
        ModelVerification = "model/verification": ModelVerificationNotification;
        /// A login to a provider was renewed.
        #[since("0.169")]
        ModelProviderAuthRecoveryCompleted = "modelProvider/authRecoveryCompleted":
            AuthRecoveryNotification;
        /// A login to a provider is being renewed.
        #[since("0.169")]
        ModelProviderAuthRecoveryStarted = "modelProvider/authRecoveryStarted":
            AuthRecoveryNotification;
        /// A process of the client ended.
        #[since("0.140")]
        ProcessExited = "process/exited": ProcessExitedNotification;
        /// More output of a process of the client.
        #[since("0.140")]
        ProcessOutputDelta = "process/outputDelta": ProcessOutputDeltaNotification;
        /// A project was created, changed or deleted.
        #[since("0.169")]
        ProjectChanged = "project/changed": ProjectChangedNotification;
        /// Whether this server can be controlled from elsewhere changed; also sent after `initialize`.
        #[since("0.140")]
        RemoteControlStatusChanged = "remoteControl/status/changed":
            RemoteControlStatusChangedNotification;
        /// A record on a thread was added or removed.
        #[since("0.169")]
        ThreadAttachmentUpdated = "thread/attachment/updated": ThreadAttachmentUpdatedNotification;
        /// A remote machine of a thread can be used.
        #[since("0.169")]
        ThreadEnvironmentConnected = "thread/environment/connected":
            EnvironmentConnectionNotification;
        /// A remote machine of a thread cannot be used any more.
        #[since("0.169")]
        ThreadEnvironmentDisconnected = "thread/environment/disconnected":
            EnvironmentConnectionNotification;
        /// A thread has no goal any more, or has none when it is resumed.
        #[since("0.140")]
        ThreadGoalCleared = "thread/goal/cleared": ThreadGoalClearedNotification;
        /// The goal of a thread changed.
        #[since("0.140")]
        ThreadGoalUpdated = "thread/goal/updated": ThreadGoalUpdatedNotification;
        /// A guess at the next message changed.
        #[since("0.169")]
        ThreadPredictionUpdated = "thread/prediction/updated": ThreadPredictionUpdatedNotification;
        /// A thread was filed under another project.
        #[since("0.169")]
        ThreadProjectUpdated = "thread/project/updated": ThreadProjectUpdatedNotification;
        /// The queue of a thread changed.
        #[since("0.169")]
        ThreadQueueChanged = "thread/queue/changed": ThreadQueueChangedNotification;
        /// What of a thread is unread changed.
        #[since("0.169")]
        ThreadReadStateChanged = "thread/readState/changed": ThreadReadStateChangedNotification;
        /// An item of the live conversation ended.
        #[since("0.169")]
        ThreadRealtimeItemCompleted = "thread/realtime/item/completed":
            ThreadRealtimeItemCompletedNotification;
        /// An item of the live conversation began.
        #[since("0.169")]
        ThreadRealtimeItemStarted = "thread/realtime/item/started":
            ThreadRealtimeItemStartedNotification;
        /// More text of an item of the live conversation.
        #[since("0.169")]
        ThreadRealtimeItemTranscriptDelta = "thread/realtime/item/transcript/delta":
            ThreadRealtimeItemTranscriptDeltaNotification;
        /// The description of the live conversation's session.
        #[since("0.140")]
        ThreadRealtimeSdp = "thread/realtime/sdp": ThreadRealtimeSdpNotification;
        /// More text of what is being spoken.
        #[since("0.140")]
        ThreadRealtimeTranscriptDelta = "thread/realtime/transcript/delta":
            ThreadRealtimeTranscriptDeltaNotification;
        /// The text of what was spoken.
        #[since("0.140")]
        ThreadRealtimeTranscriptDone = "thread/realtime/transcript/done":
            ThreadRealtimeTranscriptDoneNotification;
        /// A search has found threads.
        #[since("0.171")]
        ThreadSearchPartial = "thread/search/partial": ThreadSearchPartialNotification;
        /// A turn has changed files, and what they were before is kept.
        #[since("own")]
        ThreadCheckpointCreated = "thread/checkpoint/created":
            ThreadCheckpointCreatedNotification;
        /// Files of a thread became what they were before a checkpoint.
        #[since("own")]
        ThreadCheckpointRestored = "thread/checkpoint/restored":
            ThreadCheckpointRestoredNotification;
        /// Turns were taken out of a thread's history.
        #[since("0.169")]
        ThreadReverted = "thread/reverted": ThreadRevertedNotification;
        /// A thread was moved to another section.
        #[since("0.169")]
        ThreadSectionChanged = "thread/section/changed": ThreadSectionChangedNotification;
        /// What the provider's moderation says about a turn.
        #[since("0.140")]
        TurnModerationMetadata = "turn/moderationMetadata": TurnModerationMetadataNotification;
    }

    client_notifications {
        /// The client has read the reply to `initialize` and is ready.
        Initialized = "initialized": NoParams;
    }
}
