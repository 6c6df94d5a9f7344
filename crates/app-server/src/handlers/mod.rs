//! The handlers, a file a family.
//!
//! A handler owns the [`Responder`] of its request and uses it once. It runs in a task of its own; if
//! it panics, the request is still replied to.

mod account;
mod command_exec;
mod config;
mod extensions;
mod external_agent;
mod features;
mod feedback;
mod fork_cut;
mod fs;
mod fs_watch;
mod fuzzy_search;
mod git;
mod handshake;
mod mcp_servers;
mod models;
mod paging;
mod review;
mod settings;
mod skills;
pub(crate) mod stored;
mod thread_archive;
mod thread_control;
mod thread_list;
mod thread_metadata;
mod thread_open;
mod thread_read;
mod thread_turns;
mod turns;
mod windows;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_app_server_protocol::rpc::RequestId;
use codex_app_server_protocol::{ClientRequest, v2};
use codex_protocol::ThreadId;
use codex_rollout::LoadError;

use crate::connection::{Connection, Responder};
use crate::failure::Failure;
use crate::server::Server;
use crate::thread::{History, ThreadHandle, read_history};

pub(crate) use command_exec::start as start_command;
pub(crate) use fuzzy_search::search as start_search;
pub(crate) use handshake::initialize;

/// What a request is about, if it is one whose requests are carried out in their order: a thread, the
/// input of a process, a search, a watch.
pub(crate) fn subject_of(request: &ClientRequest) -> Option<&str> {
    Some(match request {
        ClientRequest::CommandExecWrite(params) => &params.process_id,
        ClientRequest::FuzzyFileSearchSessionStart(params) => &params.session_id,
        ClientRequest::FuzzyFileSearchSessionUpdate(params) => &params.session_id,
        ClientRequest::FuzzyFileSearchSessionStop(params) => &params.session_id,
        ClientRequest::FsWatch(params) => return params.watch_id.as_deref(),
        ClientRequest::FsUnwatch(params) => &params.watch_id,
        ClientRequest::ThreadResume(params) => &params.thread_id,
        ClientRequest::ThreadFork(params) => &params.thread_id,
        ClientRequest::ThreadRead(params) => &params.thread_id,
        ClientRequest::ThreadArchive(params) => &params.thread_id,
        ClientRequest::ThreadUnarchive(params) => &params.thread_id,
        ClientRequest::ThreadDelete(params) => &params.thread_id,
        ClientRequest::ThreadSetName(params) => &params.thread_id,
        ClientRequest::ThreadMetadataUpdate(params) => &params.thread_id,
        ClientRequest::ThreadTurnsList(params) => &params.thread_id,
        ClientRequest::ThreadUnsubscribe(params) => &params.thread_id,
        ClientRequest::ThreadRollback(params) => &params.thread_id,
        ClientRequest::ThreadCompactStart(params) => &params.thread_id,
        ClientRequest::ThreadShellCommand(params) => &params.thread_id,
        ClientRequest::ThreadBackgroundTerminalsClean(params) => &params.thread_id,
        ClientRequest::ThreadIncrementElicitation(params) => &params.thread_id,
        ClientRequest::ThreadDecrementElicitation(params) => &params.thread_id,
        ClientRequest::TurnStart(params) => &params.thread_id,
        ClientRequest::TurnSteer(params) => &params.thread_id,
        ClientRequest::TurnInterrupt(params) => &params.thread_id,
        ClientRequest::ReviewStart(params) => &params.thread_id,
        _ => return None,
    })
}

/// Carries a request out.
pub(crate) async fn handle(
    server: Arc<Server>,
    request: ClientRequest,
    connection: Arc<Connection>,
    id: RequestId,
) {
    // Each arm names its method, which is what its responder may reply with.
    macro_rules! reply {
        () => {
            Responder::new(connection, id)
        };
    }
    match request {
        ClientRequest::ThreadStart(params) => thread_open::start(server, params, reply!()).await,
        ClientRequest::ThreadResume(params) => thread_open::resume(server, params, reply!()).await,
        ClientRequest::ThreadFork(params) => thread_open::fork(server, params, reply!()).await,
        ClientRequest::ThreadRead(params) => thread_read::read(&server, params, reply!()).await,
        ClientRequest::ThreadLoadedList(params) => {
            thread_read::loaded_list(&server, params, reply!());
        }
        ClientRequest::ThreadList(params) => thread_list::list(&server, params, reply!()).await,
        ClientRequest::ThreadArchive(params) => {
            thread_archive::archive(&server, params, reply!()).await;
        }
        ClientRequest::ThreadUnarchive(params) => {
            thread_archive::unarchive(&server, params, reply!()).await;
        }
        ClientRequest::ThreadDelete(params) => {
            thread_archive::delete(&server, params, reply!()).await;
        }
        ClientRequest::ThreadSetName(params) => {
            thread_metadata::set_name(&server, params, reply!()).await;
        }
        ClientRequest::ThreadMetadataUpdate(params) => {
            thread_metadata::update(&server, params, reply!()).await;
        }
        ClientRequest::GetConversationSummary(params) => {
            thread_metadata::summarise(&server, params, reply!()).await;
        }
        ClientRequest::ThreadTurnsList(params) => {
            thread_turns::list(&server, params, reply!()).await;
        }
        ClientRequest::ThreadUnsubscribe(params) => {
            thread_control::unsubscribe(&server, params, reply!()).await;
        }
        ClientRequest::ThreadRollback(params) => {
            thread_control::roll_back(&server, params, reply!()).await;
        }
        ClientRequest::ThreadCompactStart(params) => {
            thread_control::compact(&server, params, reply!()).await;
        }
        ClientRequest::ThreadShellCommand(params) => {
            thread_control::shell_command(&server, params, reply!()).await;
        }
        ClientRequest::ThreadIncrementElicitation(params) => {
            thread_control::add_hold(&server, params, reply!()).await;
        }
        ClientRequest::ThreadDecrementElicitation(params) => {
            thread_control::take_hold_back(&server, params, reply!()).await;
        }
        ClientRequest::ThreadBackgroundTerminalsClean(params) => {
            thread_control::clean_terminals(&server, params, reply!()).await;
        }
        ClientRequest::TurnStart(params) => turns::start(&server, params, reply!()).await,
        ClientRequest::TurnSteer(params) => turns::steer(&server, params, reply!()).await,
        ClientRequest::TurnInterrupt(params) => turns::interrupt(&server, params, reply!()).await,
        ClientRequest::ReviewStart(params) => review::start(server, params, reply!()).await,
        ClientRequest::SkillsList(params) => skills::list(&server, params, reply!()).await,
        ClientRequest::SkillsConfigWrite(params) => {
            skills::config_write(&server, params, reply!()).await;
        }
        ClientRequest::GetAccount(params) => account::read(&server, params, reply!()).await,
        ClientRequest::LoginAccount(params) => account::log_in(server, params, reply!()).await,
        ClientRequest::CancelLoginAccount(params) => account::cancel(&server, params, reply!()),
        ClientRequest::LogoutAccount(params) => account::log_out(server, params, reply!()).await,
        ClientRequest::GetAccountRateLimits(params) => {
            account::read_rate_limits(&server, params, reply!()).await;
        }
        ClientRequest::GetAuthStatus(params) => {
            account::auth_status(&server, params, reply!()).await;
        }
        ClientRequest::ConfigRead(params) => config::read(server, params, reply!()).await,
        ClientRequest::ConfigValueWrite(params) => {
            config::write_value(server, params, reply!()).await;
        }
        ClientRequest::ConfigBatchWrite(params) => {
            config::write_batch(server, params, reply!()).await;
        }
        ClientRequest::ConfigRequirementsRead(params) => {
            config::read_requirements(server, params, reply!()).await;
        }
        ClientRequest::ModelList(params) => models::list(server, params, reply!()).await,
        ClientRequest::ExperimentalFeatureList(params) => {
            features::list(server, params, reply!()).await;
        }
        ClientRequest::ExperimentalFeatureEnablementSet(params) => {
            features::switch(server, params, reply!()).await;
        }
        ClientRequest::CollaborationModeList(params) => {
            features::collaboration_modes(params, reply!());
        }
        ClientRequest::ListMcpServerStatus(params) => {
            mcp_servers::list(server, params, reply!()).await;
        }
        ClientRequest::McpServerRefresh(params) => {
            mcp_servers::reload(server, params, reply!()).await;
        }
        ClientRequest::McpServerOauthLogin(params) => {
            mcp_servers::log_in(server, params, reply!()).await;
        }
        ClientRequest::AppsList(_) => extensions::apps(&server, reply!()),
        ClientRequest::PluginList(params) => extensions::plugins(server, params, reply!()).await,
        ClientRequest::PluginRead(params) => extensions::read_plugin(&params, reply!()),
        ClientRequest::PluginInstall(params) => extensions::install_plugin(&params, reply!()),
        ClientRequest::PluginUninstall(params) => {
            extensions::uninstall_plugin(&server, &params, reply!());
        }
        ClientRequest::ThreadRealtimeStart(v2::ThreadRealtimeStartParams { thread_id, .. })
        | ClientRequest::ThreadRealtimeAppendAudio(v2::ThreadRealtimeAppendAudioParams {
            thread_id,
            ..
        })
        | ClientRequest::ThreadRealtimeAppendText(v2::ThreadRealtimeAppendTextParams {
            thread_id,
            ..
        })
        | ClientRequest::ThreadRealtimeStop(v2::ThreadRealtimeStopParams { thread_id, .. }) => {
            extensions::realtime(&server, &thread_id, &connection, id);
        }
        ClientRequest::MockExperimentalMethod(params) => {
            handshake::mock(params, reply!());
        }
        ClientRequest::CommandExecWrite(params) => command_exec::write(params, reply!()).await,
        ClientRequest::CommandExecResize(params) => command_exec::resize(params, reply!()).await,
        ClientRequest::CommandExecTerminate(params) => command_exec::terminate(params, reply!()),
        ClientRequest::FuzzyFileSearchSessionStart(params) => {
            fuzzy_search::start_session(&server, params, reply!());
        }
        ClientRequest::FuzzyFileSearchSessionUpdate(params) => {
            fuzzy_search::update_session(params, reply!());
        }
        ClientRequest::FuzzyFileSearchSessionStop(params) => {
            fuzzy_search::stop_session(params, reply!());
        }
        ClientRequest::GitDiffToRemote(params) => git::diff_to_remote(params, reply!()).await,
        ClientRequest::WindowsSandboxSetupStart(params) => windows::start_setup(params, reply!()),
        ClientRequest::FsWatch(params) => fs_watch::watch(&server, params, reply!()),
        ClientRequest::FsUnwatch(params) => fs_watch::unwatch(params, reply!()),
        ClientRequest::ExternalAgentConfigDetect(params) => {
            external_agent::detect(&server, params, reply!()).await;
        }
        ClientRequest::ExternalAgentConfigImport(params) => {
            external_agent::import(&server, params, reply!()).await;
        }
        ClientRequest::FeedbackUpload(params) => feedback::upload(&server, params, reply!()).await,
        ClientRequest::FsReadFile(params) => fs::read_file(params, reply!()).await,
        ClientRequest::FsWriteFile(params) => fs::write_file(params, reply!()).await,
        ClientRequest::FsCreateDirectory(params) => fs::create_directory(params, reply!()).await,
        ClientRequest::FsGetMetadata(params) => fs::get_metadata(params, reply!()).await,
        ClientRequest::FsReadDirectory(params) => fs::read_directory(params, reply!()).await,
        ClientRequest::FsRemove(params) => fs::remove(params, reply!()).await,
        ClientRequest::FsCopy(params) => fs::copy(params, reply!()).await,
        other => {
            let message = format!("`{}` is not supported by this version", other.method());
            connection.refuse(Some(id), Failure::internal(message));
        }
    }
}

/// The id of a thread, as a client wrote it.
fn thread_id(text: &str) -> Result<ThreadId, Failure> {
    ThreadId::parse(text).map_err(|error| Failure::invalid(error.to_string()))
}

/// A thread that has to be loaded.
fn loaded_thread(server: &Server, id: &str) -> Result<ThreadHandle, Failure> {
    let id = thread_id(id)?;
    let missing = || Failure::invalid(format!("thread not found: {id}"));
    server.thread(id.as_str()).ok_or_else(missing)
}

/// Runs what reads files where it holds nobody up.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let outcome = tokio::task::spawn_blocking(work).await;
    outcome.unwrap_or_else(|_| Err(Failure::internal("the server failed to read its files")))
}

/// Reads the file of a thread.
pub(crate) async fn load(path: PathBuf) -> Result<(PathBuf, History), Failure> {
    blocking(move || match read_history(&path) {
        Ok(history) => Ok((path, history)),
        Err(error) => Err(unreadable(&path, &error)),
    })
    .await
}

fn unreadable(path: &Path, error: &LoadError) -> Failure {
    let path = path.display();
    Failure::invalid(format!("failed to load rollout `{path}`: {error}"))
}
