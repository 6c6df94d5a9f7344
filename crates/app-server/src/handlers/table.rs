//! The handler of every method, and when it runs.
//!
//! A row reads `method: order [early | unsupported] => handler`. The orders are those of [`Order`]: `at_once`,
//! `concurrent`, or the name of a queue, whose id is a member of the params. What `early` and `unsupported`
//! mean for the type of the handler is described in [`call`](super::call). A method of the vocabulary without a row does
//! not compile.

use std::sync::Arc;

use codex_app_server_protocol::rpc::RequestId;
use codex_app_server_protocol::{ClientRequest, client_method as method};
use futures::future::BoxFuture;

use super::call::{Call, Order, Queue};
use super::{
    account, command_exec, config, extensions, external_agent, features, feedback, fs, fs_watch,
    fuzzy_search, git, handshake, hooks, mcp_servers, models, permissions, review, skills,
    thread_archive, thread_control, thread_items, thread_list, thread_metadata, thread_open,
    thread_read, thread_turns, turns, windows,
};
use crate::connection::Responder;

macro_rules! handlers {
    ($( $method:ident: $order:ident $($reply:ident)? => $handler:path; )*) => {
        /// When the request is carried out.
        #[allow(unused_variables)] // Most orders need no params.
        pub(crate) fn order_of(request: &ClientRequest) -> Order {
            match request {
                $( ClientRequest::$method(params) => order!($order, params), )*
            }
        }

        /// Carries the request out and replies to it.
        pub(crate) fn handle(
            request: ClientRequest,
            call: Call,
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
    (at_once, $params:ident) => {
        Order::AtOnce
    };
    (concurrent, $params:ident) => {
        Order::Concurrent
    };
    (thread, $params:ident) => {
        Order::Queued(Queue::Thread($params.thread_id.clone()))
    };
    (process, $params:ident) => {
        Order::Queued(Queue::Process($params.process_id.clone()))
    };
    (search, $params:ident) => {
        Order::Queued(Queue::Search($params.session_id.clone()))
    };
    (watch, $params:ident) => {
        Order::Queued(Queue::Watch($params.watch_id.clone()))
    };
    // A watch that is not named gets a new id, which nobody else can mean.
    (named_watch, $params:ident) => {
        match &$params.watch_id {
            Some(id) => Order::Queued(Queue::Watch(id.clone())),
            None => Order::Concurrent,
        }
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
    ThreadStart: concurrent early => thread_open::start;
    ThreadResume: thread early => thread_open::resume;
    ThreadFork: thread early => thread_open::fork;
    ThreadList: concurrent => thread_list::list;
    ThreadLoadedList: concurrent => thread_read::loaded_list;
    ThreadRead: thread early => thread_read::read;
    ThreadTurnsList: thread => thread_turns::list;
    ThreadItemsList: thread => thread_items::list;
    ThreadGoalGet: thread => thread_read::goal;
    GetConversationSummary: concurrent => thread_metadata::summarise;

    // Threads: what is stored of them.
    ThreadArchive: thread early => thread_archive::archive;
    ThreadUnarchive: thread early => thread_archive::unarchive;
    ThreadDelete: thread early => thread_archive::delete;
    ThreadSetName: thread early => thread_metadata::set_name;
    ThreadMetadataUpdate: thread => thread_metadata::update;

    // Loaded threads and their turns.
    ThreadUnsubscribe: thread => thread_control::unsubscribe;
    ThreadRollback: thread early => thread_control::roll_back;
    ThreadCompactStart: thread => thread_control::compact;
    ThreadShellCommand: thread => thread_control::shell_command;
    ThreadIncrementElicitation: thread => thread_control::add_hold;
    ThreadDecrementElicitation: thread => thread_control::take_hold_back;
    ThreadBackgroundTerminalsClean: thread => thread_control::clean_terminals;
    ThreadBackgroundTerminalsList: thread => thread_control::list_terminals;
    ThreadBackgroundTerminalsTerminate: thread => thread_control::stop_terminal;
    ThreadSettingsUpdate: thread early => thread_control::update_settings;
    ThreadInjectItems: thread => thread_items::inject;
    TurnStart: thread early => turns::start;
    TurnSteer: thread early => turns::steer;
    TurnInterrupt: thread early => turns::interrupt;
    ReviewStart: thread early => review::start;
    ThreadRealtimeStart: concurrent unsupported => extensions::start_realtime;
    ThreadRealtimeAppendAudio: concurrent unsupported => extensions::append_realtime_audio;
    ThreadRealtimeAppendText: concurrent unsupported => extensions::append_realtime_text;
    ThreadRealtimeStop: concurrent unsupported => extensions::stop_realtime;

    // Accounts.
    GetAccount: concurrent => account::read;
    LoginAccount: concurrent early => account::log_in;
    CancelLoginAccount: concurrent => account::cancel;
    LogoutAccount: concurrent early => account::log_out;
    GetAccountRateLimits: concurrent => account::read_rate_limits;
    GetAuthStatus: concurrent => account::auth_status;

    // Settings, and what there is to choose from.
    ConfigRead: concurrent => config::read;
    ConfigValueWrite: concurrent => config::write_value;
    ConfigBatchWrite: concurrent => config::write_batch;
    ConfigRequirementsRead: concurrent => config::read_requirements;
    PermissionProfileList: concurrent => permissions::list;
    ModelList: concurrent => models::list;
    ExperimentalFeatureList: concurrent => features::list;
    ExperimentalFeatureEnablementSet: concurrent => features::switch;
    CollaborationModeList: concurrent => features::collaboration_modes;
    SkillsList: concurrent => skills::list;
    SkillsExtraRootsSet: concurrent => skills::set_extra_roots;
    SkillsConfigWrite: concurrent => skills::config_write;
    HooksList: concurrent => hooks::list;

    // Servers and programs of others.
    ListMcpServerStatus: concurrent => mcp_servers::list;
    McpServerRefresh: concurrent => mcp_servers::reload;
    McpServerOauthLogin: concurrent early => mcp_servers::log_in;
    AppsList: concurrent => extensions::apps;
    PluginList: concurrent => extensions::plugins;
    PluginInstalled: concurrent => extensions::installed;
    PluginRead: concurrent unsupported => extensions::read_plugin;
    PluginInstall: concurrent unsupported => extensions::install_plugin;
    PluginUninstall: concurrent => extensions::uninstall_plugin;
    ExternalAgentConfigDetect: concurrent => external_agent::detect;
    ExternalAgentConfigImport: concurrent => external_agent::import;

    // Files and folders.
    FsReadFile: concurrent early => fs::read_file;
    FsWriteFile: concurrent => fs::write_file;
    FsCreateDirectory: concurrent => fs::create_directory;
    FsGetMetadata: concurrent => fs::get_metadata;
    FsReadDirectory: concurrent => fs::read_directory;
    FsRemove: concurrent => fs::remove;
    FsCopy: concurrent => fs::copy;
    FsWatch: named_watch early => fs_watch::watch;
    FsUnwatch: watch => fs_watch::unwatch;
    // The order of the requests decides which search ends which.
    FuzzyFileSearch: at_once => fuzzy_search::search;
    FuzzyFileSearchSessionStart: search early => fuzzy_search::start_session;
    FuzzyFileSearchSessionUpdate: search early => fuzzy_search::update_session;
    FuzzyFileSearchSessionStop: search => fuzzy_search::stop_session;
    GitDiffToRemote: concurrent => git::diff_to_remote;

    // Programs outside of threads. The name of one is taken before the next request, which may be about it;
    // a request to end it does not wait for one that types.
    CommandExec: at_once => command_exec::start;
    CommandExecWrite: process early => command_exec::write;
    CommandExecResize: concurrent => command_exec::resize;
    CommandExecTerminate: concurrent early => command_exec::terminate;

    FeedbackUpload: concurrent => feedback::upload;
    WindowsSandboxSetupStart: concurrent early => windows::start_setup;
    MockExperimentalMethod: concurrent => handshake::mock;
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    #[test]
    fn the_status_page_tells_which_methods_are_not_supported() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/status.md");
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
