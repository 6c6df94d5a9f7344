//! `thread/start`, `thread/resume`, `thread/fork`: a thread is loaded and its client subscribed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    Thread, ThreadForkParams, ThreadResumeParams, ThreadStartParams, ThreadStartedNotification,
    ThreadStatus, ThreadStatusChangedNotification,
};
use codex_core::{StartError, StartedThread, StoredThread};
use codex_protocol::{EventMsg, ResponseItem};
use codex_rollout::{PersistedDetail, ThreadLocks};

use super::call::{Call, Reply};
use super::fork_cut::Cut;
use super::stored::add_metadata;
use super::thread_turns::first_page;
use super::{account_requirements, blocking, dynamic_tools, settings, thread_id, unreadable};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::host::{Prepared, RequestedSettings};
use crate::projection::{Turns, wire_deprecation, wire_warning};
use crate::server::Server;
use crate::thread::{Actor, Facts, History, Shown, ThreadHandle, read_to_load, stored_thread};

pub(super) async fn start(
    Call { server, connection }: Call,
    params: ThreadStartParams,
) -> Result<Reply<method::ThreadStart>, Failure> {
    let settings = settings::of_start(&params, &connection)?;
    let source = params.thread_source.clone();
    let (mut actor, mut facts) = open_new(&server, params, settings).await?;
    facts.thread_source = source;
    actor.facts = facts.clone();
    let thread = facts.thread(ThreadStatus::Idle);
    Ok(Reply::then(facts.started(thread.clone()), move || {
        let started = ThreadStartedNotification { thread };
        server.broadcast(&ServerNotification::ThreadStarted(started));
        actor.launch(&connection);
    }))
}

async fn open_new(
    server: &Arc<Server>,
    params: ThreadStartParams,
    settings: RequestedSettings,
) -> Result<(Actor, Facts), Failure> {
    let tools = params.dynamic_tools.unwrap_or_default();
    dynamic_tools::check(&tools)?;
    let mut prepared = prepare(server, settings).await?;
    let config = &mut prepared.config;
    config.ephemeral = params.ephemeral.unwrap_or_default();
    config.raw_items = params.experimental_raw_events;
    config.dynamic_tools = tools;
    let started = prepared.manager.start(config.clone());
    let started = started.map_err(|error| failed("creating", &error))?;
    opened(server, prepared, started, String::new()).await
}

pub(super) async fn resume(
    Call { server, connection }: Call,
    params: ThreadResumeParams,
) -> Result<Reply<method::ThreadResume>, Failure> {
    if let Some(thread) = server.thread(&params.thread_id) {
        return Ok(join(thread, params));
    }
    let settings = settings::of_resume(&params, &connection)?;
    if let Some(history) = params.history {
        return resume_history(server, connection, settings, history).await;
    }
    let path = params.path.as_deref();
    let shown = Shown::of(params.exclude_turns);
    other_process_done(&server, &params).await;
    let source = source(&server, &params.thread_id, path, &settings, shown, None).await?;
    if let Some(thread) = server.thread(source.history.meta.id.as_str()) {
        // It was named by its file, and it is loaded.
        return Ok(join(thread, params));
    }
    let settings = settings::with_stored(settings, &params, &source.history);
    let asked = params.initial_turns_page;
    let page = first_page(&server, source.path.clone(), None, asked).await?;
    let (actor, facts, path, loaded) = open_stored(&server, settings, source).await?;
    let (mut thread, turns) = stored_thread(&path, loaded, ThreadStatus::Idle);
    add_metadata(&server, &mut thread).await;
    broadcast_idle(&server, &thread.id);
    let mut resumed = facts.resumed(thread);
    resumed.initial_turns_page = page;
    Ok(Reply::by(|reply| async move {
        reply.accept_with(&resumed, &turns);
        actor.launch(&connection);
    }))
}

/// How often, and how far apart, it is looked whether another process has written everything.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(25);

/// A turn that has just ended in another process may have lines that are not in the file yet. Waits for
/// them for a moment; a thread that is still written then is refused when it is loaded.
async fn other_process_done(server: &Server, params: &ThreadResumeParams) {
    let named = params.path.as_ref().map(PathBuf::from);
    let named = named.and_then(|path| codex_rollout::id_of(&path));
    let Some(id) = named.or_else(|| thread_id(&params.thread_id).ok()) else {
        return;
    };
    let locks = ThreadLocks::of_home(server.host().store().home());
    for _ in 0..LOOKS {
        if locks.other_holder(&id).is_none() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The thread is loaded already.
fn join(thread: ThreadHandle, params: ThreadResumeParams) -> Reply<method::ThreadResume> {
    Reply::by(|reply| async move { thread.join(params, reply).await })
}

/// Opens a new thread with what a client says the conversation was.
async fn resume_history(
    server: Arc<Server>,
    connection: Arc<Connection>,
    settings: RequestedSettings,
    history: Vec<ResponseItem>,
) -> Result<Reply<method::ThreadResume>, Failure> {
    if history.is_empty() {
        return Err(Failure::invalid("history must not be empty"));
    }
    let (actor, facts) = open_history(&server, settings, history).await?;
    let thread = facts.thread(ThreadStatus::Idle);
    broadcast_idle(&server, &thread.id);
    Ok(Reply::then(facts.resumed(thread), move || {
        actor.launch(&connection)
    }))
}

async fn open_history(
    server: &Arc<Server>,
    settings: RequestedSettings,
    history: Vec<ResponseItem>,
) -> Result<(Actor, Facts), Failure> {
    let prepared = prepare(server, settings).await?;
    let preview = codex_core::first_user_text(&history);
    let config = prepared.config.clone();
    let started = prepared.manager.start_with(config, history);
    let started = started.map_err(|error| failed("resuming", &error))?;
    opened(server, prepared, started, preview).await
}

fn broadcast_idle(server: &Server, thread: &str) {
    let changed = ThreadStatusChangedNotification {
        thread_id: thread.to_owned(),
        status: ThreadStatus::Idle,
    };
    server.broadcast(&ServerNotification::ThreadStatusChanged(changed));
}

async fn open_stored(
    server: &Arc<Server>,
    mut settings: RequestedSettings,
    source: Source,
) -> Result<(Actor, Facts, PathBuf, History), Failure> {
    let Source {
        path,
        history,
        stored,
    } = source;
    let stored_cwd = || PathBuf::from(&history.meta.cwd);
    settings.cwd.get_or_insert_with(stored_cwd);
    let prepared = prepare(server, settings).await?;
    let (engine, own) = (Arc::clone(&prepared.manager), prepared.config.clone());
    let started = blocking(move || {
        engine
            .resume_stored(stored, own)
            .map_err(|error| match error {
                StartError::InUse(error) => Failure::invalid(error.to_string()),
                error => failed("resuming", &error),
            })
    });
    let started = started.await?;
    let preview = history.preview.clone();
    let (actor, facts) = opened(server, prepared, started, preview).await?;
    Ok((actor, facts, path, history))
}

pub(super) async fn fork(
    Call { server, connection }: Call,
    params: ThreadForkParams,
) -> Result<Reply<method::ThreadFork>, Failure> {
    let settings = settings::of_fork(&params, &connection)?;
    let (actor, facts, mut thread, turns) = fork_stored(&server, params, settings).await?;
    let own = facts.thread(ThreadStatus::Idle);
    (thread.id, thread.path) = (own.id, own.path);
    (thread.session_id, thread.forked_from_id) = (own.session_id, own.forked_from_id);
    thread.model = own.model;
    (thread.created_at, thread.updated_at) = (own.created_at, own.updated_at);
    (thread.recency_at, thread.environments) = (own.recency_at, own.environments);
    thread.can_accept_direct_input = own.can_accept_direct_input;
    (thread.cwd, thread.ephemeral) = (own.cwd, own.ephemeral);
    (thread.model_provider, thread.source) = (own.model_provider, own.source);
    (thread.cli_version, thread.name) = (own.cli_version, None);
    Ok(Reply::by(move |reply| async move {
        reply.accept_with(&facts.forked(thread.clone()), &turns);
        let started = ThreadStartedNotification { thread };
        server.broadcast_with(&ServerNotification::ThreadStarted(started), &turns);
        actor.launch(&connection);
    }))
}

async fn fork_stored(
    server: &Arc<Server>,
    params: ThreadForkParams,
    mut settings: RequestedSettings,
) -> Result<(Actor, Facts, Thread, Turns), Failure> {
    let cut = Cut::of(&params)?;
    if let Some(running) = server.thread(&params.thread_id) {
        // Its file is complete when this returns.
        running.describe().await;
    }
    let path = params.path.as_deref();
    let shown = Shown::of(params.exclude_turns);
    let source = source(server, &params.thread_id, path, &settings, shown, cut).await?;
    let Source {
        path,
        history,
        stored,
    } = source;
    let stored_cwd = || PathBuf::from(&history.meta.cwd);
    settings.cwd.get_or_insert_with(stored_cwd);
    let mut prepared = prepare(server, settings).await?;
    prepared.config.ephemeral = params.ephemeral;
    let (engine, own) = (Arc::clone(&prepared.manager), prepared.config.clone());
    let started = blocking(move || {
        let started = engine.fork_stored(stored, own);
        started.map_err(|error| failed("forking", &error))
    });
    let started = started.await?;
    // Who is replied to finds the fork again, whatever happens to this process next.
    let flushed = started.thread.flush().await;
    flushed.map_err(|error| Failure::internal(format!("error forking thread: {error}")))?;
    let preview = history.preview.clone();
    let (actor, facts) = opened(server, prepared, started, preview).await?;
    let (thread, turns) = stored_thread(&path, history, ThreadStatus::Idle);
    Ok((actor, facts, thread, turns))
}

/// Loads a copy of a thread for a review, with the configuration's own settings.
pub(super) async fn copy_for_review(
    server: &Arc<Server>,
    thread_id: &str,
    connection: &Arc<Connection>,
) -> Result<ThreadHandle, Failure> {
    let params = ThreadForkParams {
        thread_id: thread_id.to_owned(),
        exclude_turns: true,
        ..ThreadForkParams::default()
    };
    let settings = settings::of_fork(&params, connection)?;
    let (actor, facts, ..) = fork_stored(server, params, settings)
        .await
        .map_err(|failure| {
            let reason = failure.into_object().message;
            Failure::internal(format!("error creating detached review thread: {reason}"))
        })?;
    let thread = facts.thread(ThreadStatus::Idle);
    let id = thread.id.clone();
    let started = ThreadStartedNotification { thread };
    server.broadcast(&ServerNotification::ThreadStarted(started));
    actor.launch(connection);
    super::loaded_thread(server, &id)
}

/// A thread that is about to be loaded.
struct Source {
    path: PathBuf,
    /// What clients are shown of it.
    history: History,
    /// What the engine goes on with.
    stored: StoredThread,
}

/// The thread that a request names, by the path of its file or by its id, or its beginning.
async fn source(
    server: &Arc<Server>,
    id: &str,
    path: Option<&str>,
    settings: &RequestedSettings,
    shown: Shown,
    cut: Option<Cut>,
) -> Result<Source, Failure> {
    let wanted = match path {
        Some(path) => Ok(std::env::current_dir().unwrap_or_default().join(path)),
        None => Err(thread_id(id)?),
    };
    let home = server.host().identity(&settings.client).home;
    let server = Arc::clone(server);
    blocking(move || {
        let path = wanted.or_else(|id| {
            let missing = || Failure::invalid(format!("no rollout found for thread id {id}"));
            codex_rollout::find(&home, &id).ok_or_else(missing)
        })?;
        let end = match cut {
            Some(cut) => cut.place(&path, server.outlines())?,
            None => None,
        };
        let read = read_to_load(&path, shown, end).map_err(|error| unreadable(&path, &error));
        let (history, stored) = read?;
        Ok(Source {
            path,
            history,
            stored,
        })
    })
    .await
}

async fn prepare(server: &Arc<Server>, settings: RequestedSettings) -> Result<Prepared, Failure> {
    account_requirements::load(server).await?;
    let host = Arc::clone(server.host());
    let prepared = blocking(move || {
        let mut prepared = host.prepare(&settings).map_err(|reason| {
            Failure::invalid(format!("failed to load configuration: {reason}"))
        })?;
        // What is streamed is what can be read back.
        prepared.config.detail = PersistedDetail::Extended;
        prepared.config.replay_events = false;
        let profile = &settings.permission_profile;
        prepared
            .config
            .settings
            .permission_profile
            .clone_from(profile);
        Ok(prepared)
    })
    .await?;
    for warning in &prepared.warnings {
        let warning = wire_warning(warning.clone());
        server.broadcast(&ServerNotification::ConfigWarning(warning));
    }
    Ok(prepared)
}

/// The first event of a session describes it.
async fn opened(
    server: &Arc<Server>,
    prepared: Prepared,
    started: StartedThread,
    preview: String,
) -> Result<(Actor, Facts), Failure> {
    let StartedThread {
        thread,
        mut events,
        agents,
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
    watch_skills(server, prepared.config.settings.cwd.clone()).await;
    let facts = Facts::new(&thread, *configured, &prepared.config, preview);
    let (manager, deprecations) = (prepared.manager, prepared.deprecations);
    let mut actor = Actor::new(
        Arc::clone(server),
        manager,
        thread,
        events,
        agents,
        facts.clone(),
    );
    actor.deprecations = deprecations.into_iter().map(wire_deprecation).collect();
    Ok((actor, facts))
}

/// Watches the skills of a thread. They are read, as its first turn does.
async fn watch_skills(server: &Arc<Server>, cwd: PathBuf) {
    let host = Arc::clone(server.host());
    if host.skills().known(&cwd).is_some() {
        // They are watched already.
        return;
    }
    let watched = blocking(move || {
        host.skills().skills(&cwd, &[]);
        Ok(())
    });
    // It fails only where reading them panics, which is no reason not to open the thread.
    let _ = watched.await;
}

fn failed(doing: &str, error: &StartError) -> Failure {
    Failure::internal(format!("error {doing} thread: {error}"))
}
