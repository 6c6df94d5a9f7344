//! `session/new`, `load`, `resume` and `fork`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    Error, ForkSessionRequest, ForkSessionResponse, LoadSessionRequest, LoadSessionResponse,
    McpServer, NewSessionRequest, NewSessionResponse, NoticeSeverity, ResumeSessionRequest,
    ResumeSessionResponse, SessionConfigOption, SessionId, SessionModeState, SessionUpdate,
    ToolCall, ToolCallStatus, ToolKind,
};
use codex_json_rpc::Responder;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::call_content::text;
use crate::messages::notice;
use crate::models::{ModelChoice, ModelState};
use crate::options::Settings;
use crate::session::AcpSession;
use crate::{commands, errors, mcp_servers, replay, terminals, titles};

/// An open session, and the MCP servers of the request that were ignored because the configuration defines them.
pub(crate) struct OpenedSession {
    session: Arc<AcpSession>,
    ignored_servers: Vec<String>,
    /// The title that its client does not know yet.
    title: Option<String>,
}

/// Serves a request that opens a session. The commands of the session are announced when the client has read the reply.
pub(crate) fn serve<P, R, F>(
    agent: &Arc<Agent>,
    params: &RawValue,
    responder: Responder,
    handler: impl FnOnce(Arc<Agent>, P) -> F,
) where
    P: for<'de> Deserialize<'de>,
    R: Serialize + Send + 'static,
    F: Future<Output = Result<(R, OpenedSession), Error>> + Send + 'static,
{
    let work = match errors::read(params) {
        Ok(params) => handler(Arc::clone(agent), params),
        Err(error) => {
            tokio::spawn(responder.respond(Err::<(), _>(error)));
            return;
        }
    };
    let agent = Arc::clone(agent);
    tokio::spawn(async move {
        let (response, opened) = match work.await {
            Ok(opened) => opened,
            Err(error) => return responder.respond(Err::<(), _>(error)).await,
        };
        let session = &opened.session;
        let reply = WithModels {
            models: session.state().settings.model_state(),
            response,
        };
        let read = async {
            responder.respond_and_flush(Ok::<_, Error>(reply)).await;
            session.gate.reply_read().await;
        };
        let ((), commands) = tokio::join!(read, commands::available(&agent, session));
        agent.send_held(session).await;
        if agent.is_open(session) {
            notify_ignored_servers(&agent, &opened).await;
            if let Some(title) = &opened.title {
                let update = titles::update(title.clone(), Timestamp::now());
                agent.update(&session.id, update).await;
            }
            agent.update(&session.id, commands).await;
        }
    });
}

/// A reply with the models, which the protocol had before there were options.
#[derive(Serialize)]
struct WithModels<R> {
    #[serde(flatten)]
    response: R,
    models: ModelState,
}

/// The environment of a session, a part of every request that opens one.
struct SessionEnvironment<'a> {
    cwd: PathBuf,
    folders: &'a [PathBuf],
    servers: &'a [McpServer],
}

/// Reads the environment of a request; all request types have the same members.
macro_rules! environment {
    ($request:expr) => {
        SessionEnvironment {
            cwd: working_folder(&$request.cwd).await?,
            folders: &$request.additional_directories,
            servers: &$request.mcp_servers,
        }
    };
}

/// The folder of a session. The protocol demands an absolute path; some clients send one that begins at the folder of
/// this process.
async fn working_folder(cwd: &Path) -> Result<PathBuf, Error> {
    let refused = |why: String| Err(errors::invalid(why));
    let Ok(path) = std::path::absolute(cwd) else {
        return refused(format!("there is no folder `{}`", cwd.display()));
    };
    if let Err(error) = codex_mounts::check_async(&path).await {
        return refused(error.to_string());
    }
    if path.to_str().is_none() {
        return refused(format!("{path:?} is not valid UTF-8"));
    }
    if !codex_mounts::is_dir(&path) {
        return refused(format!("there is no folder `{}`", cwd.display()));
    }
    Ok(path)
}

pub(crate) async fn new(
    agent: Arc<Agent>,
    request: NewSessionRequest,
) -> Result<(NewSessionResponse, OpenedSession), Error> {
    let opened = environment!(request)
        .open(&agent, "thread/start", None)
        .await?;
    let (modes, options) = state(&agent, &opened.session);
    let response = NewSessionResponse::new(opened.session.id.clone());
    Ok((response.modes(modes).config_options(options), opened))
}

pub(crate) async fn load(
    agent: Arc<Agent>,
    request: LoadSessionRequest,
) -> Result<(LoadSessionResponse, OpenedSession), Error> {
    let environment = environment!(request);
    let opened = environment
        .reopen(&agent, "thread/resume", &request.session_id)
        .await?;
    let replayed = async {
        replay::join_turn(&agent, &opened.session).await?;
        replay::send(&agent, &opened.session).await
    };
    if let Err(error) = replayed.await {
        agent.send_held(&opened.session).await;
        return Err(error);
    }
    let (modes, options) = state(&agent, &opened.session);
    let response = LoadSessionResponse::new();
    Ok((response.modes(modes).config_options(options), opened))
}

pub(crate) async fn resume(
    agent: Arc<Agent>,
    request: ResumeSessionRequest,
) -> Result<(ResumeSessionResponse, OpenedSession), Error> {
    let environment = environment!(request);
    let opened = environment
        .reopen(&agent, "thread/resume", &request.session_id)
        .await?;
    replay::join_turn(&agent, &opened.session).await?;
    let (modes, options) = state(&agent, &opened.session);
    let response = ResumeSessionResponse::new();
    Ok((response.modes(modes).config_options(options), opened))
}

pub(crate) async fn fork(
    agent: Arc<Agent>,
    request: ForkSessionRequest,
) -> Result<(ForkSessionResponse, OpenedSession), Error> {
    let environment = environment!(request);
    let mut opened = environment
        .reopen(&agent, "thread/fork", &request.session_id)
        .await?;
    opened.title.clone_from(&opened.session.state().title);
    let (modes, options) = state(&agent, &opened.session);
    let response = ForkSessionResponse::new(opened.session.id.clone());
    Ok((response.modes(modes).config_options(options), opened))
}

/// The current modes and options.
fn state(agent: &Agent, session: &AcpSession) -> (SessionModeState, Vec<SessionConfigOption>) {
    let mut state = session.state();
    (
        state.settings.mode_state(),
        state.options_to_send(agent.client_features()),
    )
}

impl SessionEnvironment<'_> {
    async fn reopen(
        &self,
        agent: &Arc<Agent>,
        method: &'static str,
        id: &SessionId,
    ) -> Result<OpenedSession, Error> {
        let known = json!({ "threadId": id });
        match agent.find(&id.0) {
            Some(session) => store(agent, &session).await?,
            None => {
                let read = agent.call("thread/read", &known).await;
                let read = read.map_err(|_| Error::session_not_found(id.clone()))?;
                // Another client may have opened it, without a turn yet.
                if agent.program.is_shared && has_no_turn(&read["thread"]) {
                    store_thread(agent, &id.0).await?;
                }
            }
        }
        self.open(agent, method, Some(id)).await
    }

    async fn open(
        &self,
        agent: &Arc<Agent>,
        method: &'static str,
        id: Option<&SessionId>,
    ) -> Result<OpenedSession, Error> {
        let folders = self.checked_folders()?;
        let config = agent
            .call("config/read", &json!({ "cwd": self.cwd }))
            .await?;
        let config = &config["config"];
        let is_configured = |name: &str| config["mcp_servers"].get(name).is_some();
        let client_servers = mcp_servers::settings(self.servers, is_configured)?;
        check_login(agent).await?;
        let models = models(agent).await?;
        let workspace = config["sandbox_workspace_write"].clone();
        let mut params = json!({ "cwd": self.cwd, "persistExtendedHistory": true });
        match id {
            Some(id) => {
                params["threadId"] = json!(id);
                params["excludeTurns"] = json!(true);
            }
            // Stored threads keep their tools.
            None if agent.client_features().terminals => {
                params["dynamicTools"] = json!([terminals::spec()]);
            }
            None => {}
        }
        params["config"] = overrides(client_servers.servers, &workspace, &folders);
        // The session must exist before notifications of its thread are handled.
        let (noting, cwd, config) = (Arc::clone(agent), self.cwd.clone(), config.clone());
        let is_stored = id.is_some();
        let note = move |reply: &Value| {
            let thread = &reply["thread"];
            if let Some(id) = thread["id"].as_str() {
                let mut settings = Settings::opened(reply, models, &workspace, &folders);
                let provider = config["model_provider"].as_str();
                if provider.is_none_or(|provider| reply["modelProvider"] == provider) {
                    settings.offer_configured_model(&config);
                }
                let session = noting.open_session(id, cwd, settings);
                let mut state = session.state();
                state.is_stored |= is_stored;
                state.title = titles::of_thread(thread);
            }
        };
        let reply = agent.engine.call_with_hook(method, &params, note).await;
        let reply = reply.map_err(errors::from_engine)?;
        let id = reply["thread"]["id"].as_str().unwrap_or_default();
        let session = agent.find(id).ok_or_else(Error::internal_error)?;
        let ignored_servers = client_servers.ignored;
        Ok(OpenedSession {
            session,
            ignored_servers,
            title: None,
        })
    }

    fn checked_folders(&self) -> Result<Vec<Value>, Error> {
        if let Some(path) = self.folders.iter().find(|path| !path.is_absolute()) {
            let message = format!("`{}` has to be an absolute path", path.display());
            return Err(errors::invalid(message));
        }
        Ok(self.folders.iter().map(|folder| json!(folder)).collect())
    }
}

/// Has the engine write the file of a session that had no turn yet, so that it can be loaded, resumed and forked.
pub(crate) async fn store(agent: &Agent, session: &AcpSession) -> Result<(), Error> {
    if session.state().is_stored {
        return Ok(());
    }
    store_thread(agent, session.thread_id()).await?;
    session.state().is_stored = true;
    Ok(())
}

async fn store_thread(agent: &Agent, thread: &str) -> Result<(), Error> {
    // What a new thread is like already; any change of its metadata stores it.
    let params = json!({ "threadId": thread, "projectId": "" });
    agent
        .call("thread/metadata/update", &params)
        .await
        .map(drop)
}

/// Whether a thread is loaded and has no turn, so that it may have no file. It belongs to no project.
fn has_no_turn(thread: &Value) -> bool {
    thread["preview"] == ""
        && thread["projectId"].as_str().is_none_or(str::is_empty)
        && thread["status"]["type"] != "notLoaded"
}

/// The settings of a thread that come from the request.
fn overrides(
    servers: serde_json::Map<String, Value>,
    workspace: &Value,
    folders: &[Value],
) -> Value {
    let mut config = serde_json::Map::new();
    if !servers.is_empty() {
        config.insert("mcp_servers".to_owned(), Value::from(servers));
    }
    if !folders.is_empty() {
        let configured = workspace["writable_roots"].as_array().into_iter().flatten();
        let roots: Vec<_> = configured.chain(folders).cloned().collect();
        config.insert(
            "sandbox_workspace_write.writable_roots".to_owned(),
            json!(roots),
        );
    }
    Value::from(config)
}

async fn check_login(agent: &Agent) -> Result<(), Error> {
    let read = agent.call("account/read", &json!({})).await?;
    if read["account"].is_null() && read["requiresOpenaiAuth"] == true {
        Err(Error::auth_required())
    } else {
        Ok(())
    }
}

async fn models(agent: &Agent) -> Result<Vec<ModelChoice>, Error> {
    let invocation = agent.models.get_or_try_init(|| async {
        let list = agent.call("model/list", &json!({})).await?;
        let entries = list["data"].as_array().into_iter().flatten();
        Ok::<_, Error>(entries.filter_map(ModelChoice::read).collect())
    });
    invocation.await.cloned()
}

/// Tells the client which of its MCP servers were ignored because the configuration defines them.
async fn notify_ignored_servers(agent: &Agent, opened: &OpenedSession) {
    let id = &opened.session.id;
    for name in &opened.ignored_servers {
        let title = format!("MCP server `{name}` is defined in the configuration, which is used");
        if agent.client_features().notices {
            for update in notice(NoticeSeverity::Warning, &title, None) {
                agent.update(id, update).await;
            }
            continue;
        }
        let call = ToolCall::new(format!("mcp-server-{name}"), title.clone())
            .kind(ToolKind::Other)
            .status(ToolCallStatus::Failed)
            .content(vec![text(title)]);
        agent.update(id, SessionUpdate::ToolCall(call)).await;
    }
}
