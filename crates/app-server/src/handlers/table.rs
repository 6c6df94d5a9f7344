//! The handler and the order of every method.
//!
//! A row has the form `method: order [uses] (early | unsupported) => handler`. The order is `at_once`, before the next message is
//! read, or `concurrent`, or the thing that the request is about, whose id is a member of the params: it is carried out after
//! earlier requests about the same. `[uses]` lists what it reads or writes besides ([`Subject`]); a reader is carried out after
//! earlier writers, a writer after earlier readers and writers. [`call`](super::call) describes what `early` and `unsupported`
//! mean for the type of the handler. A method of the vocabulary without a row does not compile.

use std::sync::Arc;

use codex_app_server_protocol::rpc::RequestId;
use codex_app_server_protocol::v2::GetConversationSummaryParams;
use codex_app_server_protocol::{ClientRequest, client_method as method};
use futures::future::BoxFuture;

use super::call::{Order, RequestContext};
use super::{
    account, account_extras, apps, command_exec, config, environments, extensions, external_agent,
    features, feedback, fs, fs_watch, fuzzy_search, git, guardian, handshake, hooks,
    marketplace_copies, marketplaces, mcp_direct, mcp_servers, memories, model_providers, models,
    permissions, plugin_install, plugin_share, plugin_skill, plugins, processes, projects,
    realtime, realtime_list, remote_control, review, search_occurrences, server_facts, skills,
    thread_archive, thread_attachments, thread_checkpoints, thread_compaction, thread_context,
    thread_control, thread_fork, thread_goals, thread_items, thread_list, thread_metadata,
    thread_pins, thread_queue, thread_read, thread_read_state, thread_resume, thread_revert,
    thread_sample, thread_search, thread_sections, thread_settings, thread_start, thread_timeline,
    thread_turns, turn_continue, turn_interrupt, turn_settings, turn_start, turn_steer, windows,
};
use crate::connection::Responder;
use crate::ordering::{Access, AccessKind, Subject};

macro_rules! handlers {
    ($(
        $method:ident: $order:ident $([$($kind:ident $subject:ident),+])? $($reply:ident)? => $handler:path;
    )*) => {
        /// The order of a request.
        #[expect(unused_variables, reason = "most orders need no params")]
        pub(crate) fn order_of(request: &ClientRequest) -> Order {
            match request {
                $( ClientRequest::$method(params) => {
                    order!($order, params, [$($($kind $subject),+)?])
                } )*
            }
        }

        /// Carries the request out and replies to it.
        pub(crate) fn handle(
            request: ClientRequest,
            call: RequestContext,
            id: RequestId,
        ) -> BoxFuture<'static, ()> {
            match request {
                $( ClientRequest::$method(params) => Box::pin(async move {
                    let connection = Arc::clone(&call.connection);
                    let reply = Responder::<method::$method>::new(connection, id);
                    let outcome = $handler(call, params).await;
                    send!($($reply)?, reply, outcome);
                }), )*
            }
        }

        /// The methods whose rows are marked `unsupported`.
        #[cfg(test)]
        fn unsupported() -> Vec<&'static str> {
            use codex_app_server_protocol::RequestMethod;
            let marked = [
                $( marked!($($reply)?, <method::$method as RequestMethod>::NAME), )*
            ];
            marked.into_iter().flatten().collect()
        }
    };
}

macro_rules! order {
    (at_once, $params:ident, [$($kind:ident $subject:ident),*]) => {
        Order::AtOnce(vec![$( Access { kind: AccessKind::$kind, subject: Subject::$subject } ),*])
    };
    ($order:ident, $params:ident, [$($kind:ident $subject:ident),*]) => {{
        let mut uses = about!($order, $params);
        uses.extend([$( Access { kind: AccessKind::$kind, subject: Subject::$subject } ),*]);
        Order::After(uses)
    }};
}

/// What a request is about.
macro_rules! about {
    (concurrent, $params:ident) => {
        Vec::new()
    };
    (thread, $params:ident) => {
        vec![Access::write(Subject::Thread($params.thread_id.clone()))]
    };
    (conversation, $params:ident) => {
        match $params {
            GetConversationSummaryParams::ConversationId { conversation_id } => {
                vec![Access::read(Subject::Thread(conversation_id.to_string()))]
            }
            GetConversationSummaryParams::RolloutPath { .. } => Vec::new(),
        }
    };
    (realtime, $params:ident) => {
        vec![Access::write(Subject::Realtime($params.thread_id.clone()))]
    };
    (process, $params:ident) => {
        vec![Access::write(Subject::Process($params.process_id.clone()))]
    };
    (handle, $params:ident) => {
        vec![Access::write(Subject::ProcessHandle(
            $params.process_handle.clone(),
        ))]
    };
    (search, $params:ident) => {
        vec![Access::write(Subject::Search($params.session_id.clone()))]
    };
    (watch, $params:ident) => {
        vec![Access::write(Subject::Watch($params.watch_id.clone()))]
    };
    // A watch without an id gets a new, unique one.
    (named_watch, $params:ident) => {
        Vec::from_iter(
            $params
                .watch_id
                .clone()
                .map(|id| Access::write(Subject::Watch(id))),
        )
    };
    (reads_path, $params:ident) => {
        vec![Access::read(Subject::path(&$params.path))]
    };
    (reads_cwd, $params:ident) => {
        vec![Access::read(Subject::folder(&$params.cwd))]
    };
    (reads_cwds, $params:ident) => {
        Vec::from_iter(
            $params
                .cwds
                .iter()
                .map(|cwd| Access::read(Subject::folder(cwd))),
        )
    };
    (writes_path, $params:ident) => {
        vec![Access::write(Subject::path(&$params.path))]
    };
    (copies_path, $params:ident) => {
        vec![
            Access::read(Subject::path(&$params.source_path)),
            Access::write(Subject::path(&$params.destination_path)),
        ]
    };
}

macro_rules! send {
    (, $reply:ident, $outcome:ident) => {
        $reply.reply($outcome)
    };
    (early, $reply:ident, $outcome:ident) => {
        match $outcome {
            Ok(outcome) => outcome.send($reply).await,
            Err(failure) => $reply.refuse(failure),
        }
    };
    (unsupported, $reply:ident, $outcome:ident) => {
        $reply.refuse($outcome)
    };
}

#[cfg(test)]
macro_rules! marked {
    (unsupported, $name:expr) => {
        Some($name)
    };
    ($($other:ident)?, $name:expr) => {
        None
    };
}

handlers! {
    Initialize: at_once early => handshake::initialize;

    // Threads: opening and reading.
    ThreadStart: concurrent [Read Settings, Read Plugins, ReadFirst Files, Write Threads] early => thread_start::start;
    ThreadResume: thread [Read Settings, Read Plugins, Read Groups, ReadFirst Files, Write Threads] early => thread_resume::resume;
    ThreadFork: thread [Read Settings, Read Plugins, ReadFirst Files, Write Threads] early => thread_fork::fork;
    ThreadList: concurrent [Read Threads, Read Groups, ReadFirst Turns] => thread_list::list;
    ThreadLoadedList: concurrent [Read Threads] => thread_read::loaded_list;
    ThreadRead: thread [Read Threads, Read Groups] early => thread_read::read;
    ThreadTurnsList: thread => thread_turns::list;
    ThreadItemsList: thread => thread_items::list;
    ThreadTurnsItemsList: thread => thread_items::list_of_turn;
    ThreadItemsRead: thread => thread_items::read;
    ThreadTimelineList: thread => thread_timeline::list;
    ThreadSearch: concurrent [ReadFirst Threads, ReadFirst Groups] early => thread_search::search;
    ThreadSearchStream: concurrent [ReadFirst Threads, ReadFirst Groups] early => thread_search::stream;
    ThreadSearchCancel: at_once => thread_search::cancel;
    ThreadSearchStreamCancel: at_once => thread_search::cancel_stream;
    ThreadSearchOccurrences: thread => search_occurrences::occurrences;
    ThreadGoalGet: thread => thread_goals::get;
    ThreadGoalSet: thread early => thread_goals::set;
    ThreadGoalClear: thread early => thread_goals::clear;
    ThreadReadStateUpdate: thread [Write Threads] early => thread_read_state::update;
    ThreadCheckpointList: thread => thread_checkpoints::list;
    ThreadCheckpointDiff: thread => thread_checkpoints::diff;
    ThreadCheckpointRestore: thread [Write Files] early => thread_checkpoints::restore;
    ThreadRevert: thread [Write Threads] early => thread_revert::revert;
    ThreadQueueAdd: thread early => thread_queue::add;
    ThreadQueueList: thread => thread_queue::list;
    ThreadQueueUpdate: thread early => thread_queue::update;
    ThreadQueueDelete: thread early => thread_queue::delete;
    ThreadQueueReorder: thread early => thread_queue::reorder;
    ThreadQueueStart: thread early => thread_queue::start;
    GetConversationSummary: conversation [Read Threads] => thread_metadata::summarise;

    // Threads: stored data.
    ThreadArchive: thread [Write Threads] early => thread_archive::archive;
    ThreadUnarchive: thread [Write Threads] early => thread_archive::unarchive;
    ThreadDelete: thread [Write Threads, Write Attachments] early => thread_archive::delete;
    ThreadSetName: thread [Write Threads] early => thread_metadata::set_name;
    ThreadMetadataUpdate: thread [Write Threads] => thread_metadata::update;

    // Data that users and clients attach to threads.
    ThreadSectionCreate: concurrent [Write Groups] => thread_sections::create;
    ThreadSectionDelete: concurrent [Write Groups] => thread_sections::delete;
    ThreadSectionList: concurrent [Read Groups] => thread_sections::list;
    ThreadSectionUpdate: concurrent [Write Groups] => thread_sections::update;
    ThreadSectionMove: thread [Write Threads, Read Groups] early => thread_sections::move_thread;
    ProjectCreate: concurrent [Write Groups] early => projects::create;
    ProjectDelete: concurrent [Write Groups, Write Threads] early => projects::delete;
    ProjectImport: concurrent [Write Groups, Write Threads] early => projects::import;
    ProjectList: concurrent [Read Groups, Read Threads] => projects::list;
    ProjectMove: concurrent [Write Groups] early => projects::move_project;
    ProjectRead: concurrent [Read Groups, Read Threads] => projects::read;
    ProjectUpdate: concurrent [Write Groups] early => projects::update;
    ThreadAttachmentAdd: thread [Write Attachments] early => thread_attachments::add;
    ThreadAttachmentList: thread => thread_attachments::list;
    ThreadAttachmentRemove: thread [Write Attachments] early => thread_attachments::remove;
    ThreadAttachmentOwnerList: concurrent [Read Attachments] => thread_attachments::owners;

    // Loaded threads and their turns.
    ThreadUnsubscribe: thread [Write Threads] => thread_control::unsubscribe;
    ThreadRollback: thread [Write Threads] early => thread_control::roll_back;
    ThreadCompactStart: thread => thread_control::compact;
    ThreadShellCommand: thread [ReadFirst Files] => thread_control::shell_command;
    ThreadIncrementElicitation: thread => thread_control::add_hold;
    ThreadDecrementElicitation: thread => thread_control::take_hold_back;
    ThreadCompactionRead: thread => thread_compaction::read;
    ThreadCompactionRestore: thread [Write Threads] => thread_compaction::restore;
    ThreadPinAdd: thread [Write Threads] => thread_pins::add;
    ThreadPinList: thread => thread_pins::list;
    ThreadPinRemove: thread [Write Threads] => thread_pins::remove;
    ThreadContextRead: thread => thread_context::read;
    ThreadSample: concurrent early => thread_sample::sample;
    ThreadSampleCancel: at_once => thread_sample::cancel;
    ThreadPrepareApprovedPlan: thread [Write Threads] => thread_sample::prepare_plan;
    ThreadPredictionRequest: concurrent unsupported => extensions::predict;
    ThreadApproveGuardianDeniedAction: thread => guardian::approve_denied;
    ThreadGuardianReview: thread unsupported => guardian::review;
    ThreadBackgroundTerminalsClean: thread => thread_control::clean_terminals;
    ThreadBackgroundTerminalsList: thread => thread_control::list_terminals;
    ThreadBackgroundTerminalsTerminate: thread => thread_control::stop_terminal;
    ThreadSettingsUpdate: thread [ReadFirst Settings, Write Threads] early => thread_settings::update;
    ThreadInjectItems: thread [Write Threads] => thread_items::inject;
    TurnStart: thread [ReadFirst Settings, ReadFirst Files, Write Turns] early => turn_start::start;
    TurnContinue: thread [ReadFirst Files] early => turn_continue::continue_turn;
    TurnSteer: thread early => turn_steer::steer;
    TurnSettingsUpdate: thread => turn_settings::update;
    TurnInterrupt: thread early => turn_interrupt::interrupt;
    ReviewStart: thread [ReadFirst Files] early => review::start;
    ThreadRealtimeStart: realtime => realtime::start;
    ThreadRealtimeAppendAudio: realtime => realtime::append_audio;
    ThreadRealtimeAppendText: realtime => realtime::append_text;
    ThreadRealtimeAppendSpeech: concurrent unsupported => extensions::append_realtime_speech;
    ThreadRealtimeStop: realtime => realtime::stop;

    // Accounts.
    GetAccount: concurrent [ReadFirst Account] => account::read;
    LoginAccount: concurrent [Write Account] early => account::log_in;
    CancelLoginAccount: concurrent [Write Account] => account::cancel;
    LogoutAccount: concurrent [Write Account] early => account::log_out;
    GetAccountRateLimits: concurrent [ReadFirst Account] => account::read_rate_limits;
    GetAuthStatus: concurrent [ReadFirst Account] => account::auth_status;

    // Settings and available choices.
    ConfigRead: concurrent [Read Settings, Read Plugins] => config::read;
    ConfigValueWrite: concurrent [Write Settings] => config::write_value;
    ConfigBatchWrite: concurrent [Write Settings] => config::write_batch;
    ConfigRequirementsRead: concurrent [Read Settings] => config::read_requirements;
    PermissionProfileList: concurrent [Read Settings] => permissions::list;
    ModelList: concurrent [ReadFirst Settings, ReadFirst Account] => models::list;
    ExperimentalFeatureList: concurrent [Read Settings] => features::list;
    ExperimentalFeatureEnablementSet: concurrent [Write Settings] => features::switch;
    CollaborationModeList: concurrent [Read Settings] => features::collaboration_modes;
    SkillsList: reads_cwds [Read Settings, Read Plugins] => skills::list;
    SkillsExtraRootsSet: concurrent [Write Settings] => skills::set_extra_roots;
    SkillsConfigWrite: concurrent [Write Settings] => skills::config_write;
    HooksList: reads_cwds [Read Settings, Read Plugins] => hooks::list;
    HooksRegister: at_once => hooks::register;
    HooksUnregister: at_once => hooks::unregister;

    // MCP servers, and programs of other vendors.
    ListMcpServerStatus: concurrent [ReadFirst Settings, ReadFirst Plugins, ReadFirst McpServers] => mcp_servers::list;
    McpServerRefresh: concurrent [ReadFirst Settings, ReadFirst Plugins, Write McpServers] => mcp_servers::reload;
    McpServerOauthLogin: concurrent [ReadFirst Settings] early => mcp_servers::log_in;
    McpServerToolCall: concurrent [ReadFirst Settings, ReadFirst McpServers] => mcp_direct::call;
    McpServerResourceRead: concurrent [ReadFirst Settings, ReadFirst McpServers] => mcp_direct::read;
    AppsList: concurrent [ReadFirst Settings, ReadFirst Plugins, ReadFirst Account] => apps::list;
    AppInstalled: concurrent [ReadFirst Settings, ReadFirst Plugins, ReadFirst Account] => apps::installed;
    AppRead: concurrent [ReadFirst Settings, ReadFirst Account] => apps::read;
    PluginReconcile: concurrent [Write Plugins] => extensions::reconcile_plugins;
    PluginSearch: concurrent [ReadFirst Settings, ReadFirst Plugins] => plugins::search;
    MarketplaceUpgrade: concurrent [Write Plugins] => marketplace_copies::upgrade;
    MarketplaceAdd: concurrent [Write Plugins] => marketplace_copies::add;
    MarketplaceRemove: concurrent [Write Plugins] => marketplaces::remove;
    ThreadRealtimeListVoices: concurrent => realtime::voices;
    ThreadRealtimeList: thread => realtime_list::list;
    ExternalAgentConfigImportReadHistories: concurrent => extensions::import_histories;
    ExternalAgentConfigImportRecordHistory: concurrent unsupported => extensions::record_import;
    PluginShareList: concurrent unsupported => plugin_share::list;
    PluginShareSave: concurrent unsupported => plugin_share::save;
    PluginShareCheckout: concurrent unsupported => plugin_share::check_out;
    PluginShareDelete: concurrent unsupported => plugin_share::delete;
    PluginShareUpdateTargets: concurrent unsupported => plugin_share::update_targets;
    PluginSkillRead: concurrent [ReadFirst Settings, ReadFirst Plugins] => plugin_skill::read;
    McpServerEventStreamStart: thread unsupported => extensions::start_mcp_events;
    McpServerEventStreamStop: concurrent => extensions::stop_mcp_events;
    PluginList: concurrent [ReadFirst Settings, ReadFirst Plugins] => plugins::list;
    PluginInstalled: concurrent [ReadFirst Settings, ReadFirst Plugins] => plugins::installed;
    PluginRead: concurrent [ReadFirst Settings, ReadFirst Plugins] => plugins::read;
    PluginInstall: concurrent [ReadFirst Settings, Write Plugins] => plugin_install::install;
    PluginUninstall: concurrent [ReadFirst Settings, Write Plugins] => plugin_install::uninstall;
    ExternalAgentConfigDetect: concurrent [Read Settings] => external_agent::detect;
    ExternalAgentConfigImport: concurrent [Write Settings] early => external_agent::import;

    // Files and folders.
    FsReadFile: reads_path early => fs::read_file;
    FsWriteFile: writes_path => fs::write_file;
    FsCreateDirectory: writes_path => fs::create_directory;
    FsGetMetadata: reads_path => fs::get_metadata;
    FsReadDirectory: reads_path => fs::read_directory;
    FsRemove: writes_path => fs::remove;
    FsCopy: copies_path => fs::copy;
    FsWatch: named_watch early => fs_watch::watch;
    FsUnwatch: watch => fs_watch::unwatch;
    // Requests run in order, because a search cancels an earlier one.
    FuzzyFileSearch: at_once [ReadFirst Files] => fuzzy_search::search;
    FuzzyFileSearchSessionStart: search [ReadFirst Files] early => fuzzy_search::start_session;
    FuzzyFileSearchSessionUpdate: search early => fuzzy_search::update_session;
    FuzzyFileSearchSessionStop: search => fuzzy_search::stop_session;
    GitDiffToRemote: reads_cwd => git::diff_to_remote;

    // Programs outside of threads. The id is registered before the next request is read, which may refer to it.
    // Requests to terminate are concurrent, so they do not wait for input that is being written.
    CommandExec: at_once [ReadFirst Files] => command_exec::start;
    CommandExecWrite: process early => command_exec::write;
    CommandExecResize: concurrent => command_exec::resize;
    CommandExecTerminate: concurrent early => command_exec::terminate;

    ProcessSpawn: at_once [ReadFirst Files] early => processes::spawn;
    ProcessWriteStdin: handle early => processes::write;
    ProcessResizePty: concurrent => processes::resize;
    ProcessKill: concurrent early => processes::kill;

    // Requests about vendor accounts and services.
    AccountUsageRead: concurrent unsupported => account_extras::usage;
    AccountWorkspaceMessagesRead: concurrent unsupported => account_extras::workspace_messages;
    AccountRateLimitResetCreditConsume: concurrent unsupported => account_extras::consume_reset_credit;
    AccountSendAddCreditsNudgeEmail: concurrent unsupported => account_extras::ask_for_credits;
    AccountSecuritySetupRead: concurrent => account_extras::security_setup;
    AccountSessionList: concurrent => account_extras::sessions;
    AccountSessionSwitch: concurrent unsupported => account_extras::switch_session;
    AccountGatewayOAuthRead: concurrent => account_extras::gateway;
    AccountGatewayOAuthLogin: concurrent unsupported => account_extras::gateway_login;
    AccountGatewayOAuthCancel: concurrent => account_extras::gateway_cancel;
    AccountBedrockCheckGovCloudRequirements: concurrent => account_extras::bedrock_check;
    AccountBedrockDiscover: concurrent => account_extras::bedrock_discover;
    AccountBedrockSetup: concurrent unsupported => account_extras::bedrock_setup;
    AccountGcpSetup: concurrent unsupported => account_extras::gcp_setup;
    UserVerificationStatus: concurrent => account_extras::verification_status;
    UserVerificationEnroll: concurrent unsupported => account_extras::enroll_verification;
    UserVerificationVerify: concurrent unsupported => account_extras::verify;
    UserVerificationDelete: concurrent unsupported => account_extras::delete_verification;
    UserVerificationCancel: concurrent => account_extras::cancel_verification;
    RemoteControlStatusRead: concurrent => remote_control::status;
    RemoteControlEnable: concurrent unsupported => remote_control::enable;
    RemoteControlDisable: concurrent unsupported => remote_control::disable;
    RemoteControlClientList: concurrent unsupported => remote_control::clients;
    RemoteControlClientRevoke: concurrent unsupported => remote_control::revoke;
    RemoteControlPairingStart: concurrent unsupported => remote_control::start_pairing;
    RemoteControlPairingStatus: concurrent unsupported => remote_control::pairing_status;

    // Information about the server and its environment.
    ServerDiagnostics: concurrent => server_facts::diagnostics;
    RolloutCompress: concurrent => server_facts::compress;
    EnvironmentInfo: concurrent => environments::info;
    EnvironmentStatus: concurrent => environments::status;
    EnvironmentAdd: at_once => environments::add;
    MemoryStatus: concurrent [Read Memories] => memories::status;
    MemoryReset: concurrent [Write Memories] => memories::reset;
    ThreadMemoryRead: thread [Read Memories] => memories::read;
    ThreadMemoryModeSet: thread [Write Threads] => memories::set_mode;
    WindowsSandboxReadiness: concurrent [Read Settings] => windows::readiness;
    ModelProviderList: concurrent [Read Settings] => model_providers::list;
    ModelProviderCapabilitiesRead: concurrent [Read Settings] => model_providers::capabilities;
    ModelProviderConfigWrite: concurrent [Write Settings] => model_providers::write;
    ModelProviderDefaultSet: concurrent [Write Settings] => model_providers::set_default;

    FeedbackUpload: concurrent => feedback::upload;
    FeedbackSave: concurrent => feedback::save;
    WindowsSandboxSetupStart: concurrent early => windows::start_setup;
    MockExperimentalMethod: concurrent => handshake::mock;
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn status_page_lists_unsupported_methods() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/status/methods.md");
        let page = std::fs::read_to_string(page).unwrap();
        let rows = page.lines().filter(|line| line.contains("| not supported"));
        let mut listed: Vec<_> = rows
            .flat_map(|row| row.split('`').skip(1).step_by(2))
            .collect();
        let mut marked = super::unsupported();
        listed.sort_unstable();
        marked.sort_unstable();
        assert_eq!(listed, marked);
    }
}
