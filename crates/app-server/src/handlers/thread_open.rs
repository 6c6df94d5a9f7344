//! What `thread/start`, `thread/resume` and `thread/fork` share: they load a thread and subscribe the client.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_app_server_protocol::ServerNotification;
use codex_core::{HostTools, StartError, StartedThread, StoredThread};
use codex_memories::MemoryRun;
use codex_projection::dialect::StoredForm;
use codex_projection::{wire_deprecation, wire_warning};
use codex_protocol::{EventMsg, SessionSource, ThreadId};
use codex_rollout::PersistedDetail;
use tokio::sync::oneshot;

use super::fork_cut::ForkEnd;
use super::{account_requirements, blocking, thread_id, unreadable};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::goal_tools::GoalTools;
use crate::host::{PreparedThread, RequestedSettings};
use crate::server::AppServer;
use crate::thread::{
    Actor, ContinuableTurn, StoredHistory, ThreadFacts, TurnsShown, form_in, read_to_load,
};

pub(super) async fn prepare(
    server: &Arc<AppServer>,
    settings: RequestedSettings,
) -> Result<PreparedThread, Failure> {
    account_requirements::load(server).await?;
    // The settings, the project and the sandbox may name paths on any of them.
    codex_mounts::try_all().await;
    let host = Arc::clone(server.host());
    let client_hooks = Arc::clone(server.client_hooks());
    let prepared = blocking(move || {
        let mut prepared = host.prepare(&settings).map_err(|reason| {
            Failure::invalid(format!("failed to load configuration: {reason}"))
        })?;
        // Stored turns must equal streamed ones.
        prepared.config.options.detail = PersistedDetail::Extended;
        prepared.config.options.replay_events = false;
        let limits = &mut prepared.config.options.settings.limits;
        *limits = settings.limits.or(*limits).or(settings.stored_limits);
        prepared.config.options.settings.disabled_plugins = settings.disabled_plugins;
        prepared.config.services.client_hooks = Some(client_hooks);
        prepared.config.options.takes_openai_forms = settings.takes_openai_forms;
        Ok(prepared)
    })
    .await?;
    for warning in &prepared.warnings {
        let warning = wire_warning(warning.clone());
        server.broadcast(&ServerNotification::ConfigWarning(warning));
    }
    Ok(prepared)
}

/// Waits for the first event, which describes the session.
pub(super) async fn opened(
    server: &Arc<AppServer>,
    prepared: PreparedThread,
    started: StartedThread,
    preview: String,
) -> Result<(Actor, ThreadFacts), Failure> {
    let StartedThread {
        thread,
        mut events,
        agents,
        unfinished,
    } = started;
    let first = events.next().await.map(|event| event.msg);
    let Some(EventMsg::SessionConfigured(configured)) = first else {
        return Err(Failure::internal("the thread ended before it began"));
    };
    if let Err(reason) = thread.required_servers().await {
        prepared.manager.close(thread.id()).await;
        let message =
            format!("error creating thread: Fatal error: Failed to initialize session: {reason}");
        return Err(Failure::internal(message));
    }
    make_memories(server, &prepared, thread.id());
    watch_skills(server, prepared.config.options.settings.cwd.clone()).await;
    let mut facts = ThreadFacts::new(&thread, *configured, &prepared.config, preview);
    facts.overrides = Arc::new(prepared.overrides);
    let (manager, deprecations) = (prepared.manager, prepared.deprecations);
    let mut actor = Actor::new(
        Arc::clone(server),
        manager,
        thread,
        events,
        agents,
        facts.clone(),
    );
    actor.unfinished = unfinished.map(ContinuableTurn::new);
    actor.deprecations = deprecations.into_iter().map(wire_deprecation).collect();
    Ok((actor, facts))
}

/// Makes memories of earlier threads in the background, where the user wants them.
fn make_memories(server: &AppServer, prepared: &PreparedThread, thread: &ThreadId) {
    let config = &prepared.config;
    let is_agent = matches!(config.identity.source, SessionSource::SubAgent(_));
    let settings = prepared.memories.as_ref();
    if let Some(settings) = settings.filter(|_| !config.identity.ephemeral && !is_agent) {
        let making = MemoryRun {
            store: Arc::clone(server.host().memories()),
            threads: server.host().store().clone(),
            manager: Arc::clone(&prepared.manager),
            config: config.clone(),
            settings: settings.clone(),
            thread: thread.clone(),
            accounts: (prepared.uses_account).then(|| Arc::clone(server.host().accounts())),
        };
        tokio::spawn(making.run());
    }
}

/// Watches the skills of a thread's folder. They are read for the first turn after this returns.
async fn watch_skills(server: &Arc<AppServer>, cwd: PathBuf) {
    let host = Arc::clone(server.host());
    if host.skills().known(&cwd).is_some() {
        // Watched already.
        return;
    }
    let (report, watched) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        host.skills().watch_and_read(&cwd, &[], || {
            let _ = report.send(());
        });
    });
    // The sender is dropped if there is nothing to watch or if reading panics, which must not prevent the thread from opening.
    let _ = watched.await;
}

pub(super) fn failed(doing: &str, error: &StartError) -> Failure {
    Failure::internal(format!("error {doing} thread: {error}"))
}

/// The tools for the goal of a thread. They are offered for clients that show goals.
pub(super) fn goal_tools(
    server: &Arc<AppServer>,
    connection: &Connection,
) -> Option<Arc<dyn HostTools>> {
    let are_offered = connection.dialect().has_goal_tools();
    let is_on = server.host().has_goals();
    is_on.then(|| Arc::new(GoalTools::new(server, are_offered)) as Arc<dyn HostTools>)
}

/// Decides how its model is offered tools of MCP servers.
pub(super) fn name_mcp_tools(prepared: &mut PreparedThread, connection: &Connection) {
    let names = connection.dialect().mcp_tool_names();
    let are_in_namespaces = names.are_in_namespaces(prepared.has_hosted_models);
    prepared.config.options.mcp_namespaces = are_in_namespaces;
}

/// A stored thread that is about to be loaded.
pub(super) struct LoadSource {
    pub(super) path: PathBuf,
    /// For clients.
    pub(super) history: StoredHistory,
    /// For the engine.
    pub(super) stored: StoredThread,
}

impl LoadSource {
    /// Prepares to load it: what the request does not choose is as it was.
    pub(super) async fn prepare(
        &self,
        server: &Arc<AppServer>,
        mut settings: RequestedSettings,
    ) -> Result<PreparedThread, Failure> {
        let stored_cwd = || self.history.meta.cwd.clone();
        settings.cwd.get_or_insert_with(stored_cwd);
        settings
            .disabled_plugins
            .clone_from(&self.history.disabled_plugins);
        let mut prepared = prepare(server, settings).await?;
        prepared.config.identity.has_legacy_history = self.history.meta.is_legacy();
        Ok(prepared)
    }
}

/// Why there is no file to open for a thread.
fn not_to_be_opened(home: &Path, id: &ThreadId) -> Failure {
    Failure::invalid(match codex_rollout::find_archived(home, id) {
        Some(_) => format!("session {id} is archived; `thread/unarchive` brings it back"),
        None => format!("no rollout found for thread id {id}"),
    })
}

/// The path of a request. An empty one stands for none.
pub(super) fn given(path: Option<String>) -> Option<String> {
    path.filter(|path| !path.is_empty())
}

/// Reads the thread of a request, given by the path of its file, or by its id or the beginning of it.
pub(super) async fn source(
    server: &Arc<AppServer>,
    id: &str,
    path: Option<&str>,
    settings: &RequestedSettings,
    (shown, form): (TurnsShown, StoredForm),
    cut: Option<ForkEnd>,
) -> Result<LoadSource, Failure> {
    let wanted = match path {
        Some(path) => Ok(std::env::current_dir().unwrap_or_default().join(path)),
        None => Err(thread_id(id)?),
    };
    let home = server.host().identity(&settings.client).home;
    let server = Arc::clone(server);
    blocking(move || {
        let path = wanted.or_else(|id| {
            codex_rollout::find(&home, &id).ok_or_else(|| not_to_be_opened(&home, &id))
        })?;
        let form = form_in(&path, form);
        let end = match cut {
            Some(cut) => cut.place(&path, server.outlines())?,
            None => None,
        };
        // The turns need all lines.
        let selection = match (shown, end) {
            (TurnsShown::WithoutTurns, None) => {
                let outline = server.outlines().get(&path).ok();
                outline.and_then(|outline| outline.lines_to_load())
            }
            _ => None,
        };
        let read = read_to_load(
            &path,
            shown,
            form,
            end,
            selection.as_ref(),
            server.outlines(),
        );
        let (history, stored) = read.map_err(|error| unreadable(&path, &error))?;
        Ok(LoadSource {
            path,
            history,
            stored,
        })
    })
    .await
}
