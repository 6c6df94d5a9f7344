//! From a request to its handler, by families.
//!
//! A family takes the requests that are its own and hands back the others, so that what no family knows is
//! refused in one place.

use std::sync::Arc;

use codex_app_server_protocol::ClientRequest as Request;
use codex_app_server_protocol::rpc::RequestId;

use super::{
    account, command_exec, config, extensions, external_agent, features, feedback, fs, fs_watch,
    fuzzy_search, git, handshake, hooks, mcp_servers, models, permissions, review, skills,
    thread_archive, thread_control, thread_items, thread_list, thread_metadata, thread_open,
    thread_read, thread_turns, turns, windows,
};
use crate::connection::{Connection, Responder};
use crate::failure::Failure;
use crate::server::Server;

/// Whom a request comes from, and who answers it.
struct Call {
    server: Arc<Server>,
    connection: Arc<Connection>,
    id: RequestId,
}

impl Call {
    fn server(&self) -> Arc<Server> {
        Arc::clone(&self.server)
    }

    /// What the request is replied to with, once.
    fn reply<M>(self) -> Responder<M> {
        Responder::new(self.connection, self.id)
    }
}

/// The request and its call, from a family whose they are not.
type Unclaimed = Option<(Request, Call)>;

/// Carries a request out.
pub(crate) async fn handle(
    server: Arc<Server>,
    request: Request,
    connection: Arc<Connection>,
    id: RequestId,
) {
    let call = Call {
        server,
        connection,
        id,
    };
    if let Some((request, call)) = dispatch(request, call).await {
        let message = format!("`{}` is not supported by this version", request.method());
        let failure = Failure::internal(message);
        call.connection.refuse(Some(call.id), failure);
    }
}

async fn dispatch(request: Request, call: Call) -> Unclaimed {
    let (request, call) = opening(request, call).await?;
    let (request, call) = keeping(request, call).await?;
    let (request, call) = steering(request, call).await?;
    let (request, call) = accounts(request, call).await?;
    let (request, call) = settings_and_catalogues(request, call).await?;
    let (request, call) = others(request, call).await?;
    let (request, call) = files(request, call).await?;
    let (request, call) = commands_and_rest(request, call).await?;
    realtime(request, call)
}

/// What opens threads and what reads them.
async fn opening(request: Request, call: Call) -> Unclaimed {
    match request {
        Request::ThreadStart(params) => {
            thread_open::start(call.server(), params, call.reply()).await
        }
        Request::ThreadResume(params) => {
            thread_open::resume(call.server(), params, call.reply()).await
        }
        Request::ThreadFork(params) => thread_open::fork(call.server(), params, call.reply()).await,
        Request::ThreadRead(params) => {
            thread_read::read(&call.server(), params, call.reply()).await
        }
        Request::ThreadLoadedList(params) => {
            thread_read::loaded_list(&call.server(), params, call.reply())
        }
        Request::ThreadList(params) => {
            thread_list::list(&call.server(), params, call.reply()).await
        }
        Request::ThreadTurnsList(params) => {
            thread_turns::list(&call.server(), params, call.reply()).await
        }
        Request::ThreadItemsList(params) => {
            thread_items::list(&call.server(), params, call.reply()).await
        }
        Request::ThreadGoalGet(params) => {
            thread_read::goal(&call.server(), params, call.reply()).await
        }
        Request::GetConversationSummary(params) => {
            thread_metadata::summarise(&call.server(), params, call.reply()).await
        }
        other => return Some((other, call)),
    }
    None
}

/// What is kept of threads.
async fn keeping(request: Request, call: Call) -> Unclaimed {
    match request {
        Request::ThreadArchive(params) => {
            thread_archive::archive(&call.server(), params, call.reply()).await
        }
        Request::ThreadUnarchive(params) => {
            thread_archive::unarchive(&call.server(), params, call.reply()).await
        }
        Request::ThreadDelete(params) => {
            thread_archive::delete(&call.server(), params, call.reply()).await
        }
        Request::ThreadSetName(params) => {
            thread_metadata::set_name(&call.server(), params, call.reply()).await
        }
        Request::ThreadMetadataUpdate(params) => {
            thread_metadata::update(&call.server(), params, call.reply()).await
        }
        other => return Some((other, call)),
    }
    None
}

/// Loaded threads and their turns.
async fn steering(request: Request, call: Call) -> Unclaimed {
    match request {
        Request::ThreadUnsubscribe(params) => {
            thread_control::unsubscribe(&call.server(), params, call.reply()).await
        }
        Request::ThreadRollback(params) => {
            thread_control::roll_back(&call.server(), params, call.reply()).await
        }
        Request::ThreadCompactStart(params) => {
            thread_control::compact(&call.server(), params, call.reply()).await
        }
        Request::ThreadShellCommand(params) => {
            thread_control::shell_command(&call.server(), params, call.reply()).await
        }
        Request::ThreadIncrementElicitation(params) => {
            thread_control::add_hold(&call.server(), params, call.reply()).await
        }
        Request::ThreadDecrementElicitation(params) => {
            thread_control::take_hold_back(&call.server(), params, call.reply()).await
        }
        Request::ThreadBackgroundTerminalsClean(params) => {
            thread_control::clean_terminals(&call.server(), params, call.reply()).await
        }
        Request::ThreadBackgroundTerminalsList(params) => {
            thread_control::list_terminals(&call.server(), params, call.reply()).await
        }
        Request::ThreadBackgroundTerminalsTerminate(params) => {
            thread_control::stop_terminal(&call.server(), params, call.reply()).await
        }
        Request::ThreadSettingsUpdate(params) => {
            thread_control::update_settings(&call.server(), params, call.reply()).await
        }
        Request::ThreadInjectItems(params) => {
            thread_items::inject(&call.server(), params, call.reply()).await
        }
        Request::TurnStart(params) => turns::start(&call.server(), params, call.reply()).await,
        Request::TurnSteer(params) => turns::steer(&call.server(), params, call.reply()).await,
        Request::TurnInterrupt(params) => {
            turns::interrupt(&call.server(), params, call.reply()).await
        }
        Request::ReviewStart(params) => review::start(call.server(), params, call.reply()).await,
        other => return Some((other, call)),
    }
    None
}

/// Who uses the models.
async fn accounts(request: Request, call: Call) -> Unclaimed {
    match request {
        Request::GetAccount(params) => account::read(&call.server(), params, call.reply()).await,
        Request::LoginAccount(params) => account::log_in(call.server(), params, call.reply()).await,
        Request::CancelLoginAccount(params) => {
            account::cancel(&call.server(), params, call.reply())
        }
        Request::LogoutAccount(params) => {
            account::log_out(call.server(), params, call.reply()).await
        }
        Request::GetAccountRateLimits(params) => {
            account::read_rate_limits(&call.server(), params, call.reply()).await
        }
        Request::GetAuthStatus(params) => {
            account::auth_status(&call.server(), params, call.reply()).await
        }
        other => return Some((other, call)),
    }
    None
}

/// Settings, and what there is to choose from.
async fn settings_and_catalogues(request: Request, call: Call) -> Unclaimed {
    match request {
        Request::ConfigRead(params) => config::read(call.server(), params, call.reply()).await,
        Request::ConfigValueWrite(params) => {
            config::write_value(call.server(), params, call.reply()).await
        }
        Request::ConfigBatchWrite(params) => {
            config::write_batch(call.server(), params, call.reply()).await
        }
        Request::ConfigRequirementsRead(params) => {
            config::read_requirements(call.server(), params, call.reply()).await
        }
        Request::PermissionProfileList(params) => {
            permissions::list(call.server(), params, call.reply()).await
        }
        Request::ModelList(params) => models::list(call.server(), params, call.reply()).await,
        Request::ExperimentalFeatureList(params) => {
            features::list(call.server(), params, call.reply()).await
        }
        Request::ExperimentalFeatureEnablementSet(params) => {
            features::switch(call.server(), params, call.reply()).await
        }
        Request::CollaborationModeList(params) => {
            features::collaboration_modes(params, call.reply())
        }
        Request::SkillsList(params) => skills::list(&call.server(), params, call.reply()).await,
        Request::SkillsConfigWrite(params) => {
            skills::config_write(&call.server(), params, call.reply()).await
        }
        other => return Some((other, call)),
    }
    None
}

/// Servers and programs of others.
async fn others(request: Request, call: Call) -> Unclaimed {
    match request {
        Request::ListMcpServerStatus(params) => {
            mcp_servers::list(call.server(), params, call.reply()).await
        }
        Request::McpServerRefresh(params) => {
            mcp_servers::reload(call.server(), params, call.reply()).await
        }
        Request::McpServerOauthLogin(params) => {
            mcp_servers::log_in(call.server(), params, call.reply()).await
        }
        Request::AppsList(_) => extensions::apps(&call.server(), call.reply()),
        Request::PluginList(params) => {
            extensions::plugins(call.server(), params, call.reply()).await
        }
        Request::PluginInstalled(params) => {
            extensions::installed(call.server(), params, call.reply()).await
        }
        Request::HooksList(params) => hooks::list(call.server(), params, call.reply()).await,
        Request::PluginRead(params) => extensions::read_plugin(&params, call.reply()),
        Request::PluginInstall(params) => extensions::install_plugin(&params, call.reply()),
        Request::PluginUninstall(params) => {
            extensions::uninstall_plugin(&call.server(), &params, call.reply())
        }
        Request::ExternalAgentConfigDetect(params) => {
            external_agent::detect(&call.server(), params, call.reply()).await
        }
        Request::ExternalAgentConfigImport(params) => {
            external_agent::import(&call.server(), params, call.reply()).await
        }
        other => return Some((other, call)),
    }
    None
}

/// Files and folders.
async fn files(request: Request, call: Call) -> Unclaimed {
    match request {
        Request::FsReadFile(params) => fs::read_file(params, call.reply()).await,
        Request::FsWriteFile(params) => fs::write_file(params, call.reply()).await,
        Request::FsCreateDirectory(params) => fs::create_directory(params, call.reply()).await,
        Request::FsGetMetadata(params) => fs::get_metadata(params, call.reply()).await,
        Request::FsReadDirectory(params) => fs::read_directory(params, call.reply()).await,
        Request::FsRemove(params) => fs::remove(params, call.reply()).await,
        Request::FsCopy(params) => fs::copy(params, call.reply()).await,
        Request::FsWatch(params) => fs_watch::watch(&call.server(), params, call.reply()),
        Request::FsUnwatch(params) => fs_watch::unwatch(params, call.reply()),
        Request::FuzzyFileSearchSessionStart(params) => {
            fuzzy_search::start_session(&call.server(), params, call.reply())
        }
        Request::FuzzyFileSearchSessionUpdate(params) => {
            fuzzy_search::update_session(params, call.reply())
        }
        Request::FuzzyFileSearchSessionStop(params) => {
            fuzzy_search::stop_session(params, call.reply())
        }
        Request::GitDiffToRemote(params) => git::diff_to_remote(params, call.reply()).await,
        other => return Some((other, call)),
    }
    None
}

/// Commands, and what stands alone.
async fn commands_and_rest(request: Request, call: Call) -> Unclaimed {
    match request {
        Request::CommandExecWrite(params) => command_exec::write(params, call.reply()).await,
        Request::CommandExecResize(params) => command_exec::resize(params, call.reply()).await,
        Request::CommandExecTerminate(params) => command_exec::terminate(params, call.reply()),
        Request::FeedbackUpload(params) => {
            feedback::upload(&call.server(), params, call.reply()).await
        }
        Request::WindowsSandboxSetupStart(params) => windows::start_setup(params, call.reply()),
        Request::MockExperimentalMethod(params) => handshake::mock(params, call.reply()),
        other => return Some((other, call)),
    }
    None
}

/// Conversations by voice, of which there are none.
fn realtime(request: Request, call: Call) -> Unclaimed {
    let thread_id = match &request {
        Request::ThreadRealtimeStart(params) => params.thread_id.clone(),
        Request::ThreadRealtimeAppendAudio(params) => params.thread_id.clone(),
        Request::ThreadRealtimeAppendText(params) => params.thread_id.clone(),
        Request::ThreadRealtimeStop(params) => params.thread_id.clone(),
        _ => return Some((request, call)),
    };
    extensions::realtime(&call.server, &thread_id, &call.connection, call.id);
    None
}
