//! `thread/start`, `thread/resume`, `thread/fork`: load a thread and subscribe the client.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_app_server_protocol::v2::{
    ApprovalsReviewer, DynamicToolSpec, Thread, ThreadForkParams, ThreadResumeParams,
    ThreadStartParams, ThreadStartedNotification, ThreadStatus, ThreadStatusChangedNotification,
    ThreadTokenUsageUpdatedNotification, TurnEnvironmentParams,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_core::{HostTools, SessionConfig, StartError, StartedThread, StoredThread};
use codex_memories::MemoryRun;
use codex_protocol::{EventMsg, ResponseItem, SessionSource, ThreadId, TokenUsageInfo};
use codex_rollout::{PersistedDetail, ThreadLocks};
use tokio::sync::oneshot;

use super::call::{EarlyReply, RequestContext};
use super::fork_cut::ForkEnd;
use super::stored::{add_metadata, add_stored_state};
use super::thread_metadata::{copy_name, set_daybreak};
use super::thread_sample::newest_turn;
use super::thread_turns::first_page;
use super::{
    account_requirements, blocking, dynamic_tools, fs, newest_cursors, projects, settings,
    state_failed, thread_id, unreadable,
};
use crate::background_notifier::NotificationSink;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::goal_tools::GoalTools;
use crate::host::{PreparedThread, RequestedSettings};
use crate::projection::{ItemIds, Turns, wire_deprecation, wire_usage, wire_warning};
use crate::server::AppServer;
use crate::thread::{
    Actor, ContinuableTurn, StoredHistory, ThreadFacts, ThreadHandle, TurnsShown, read_to_load,
    stored_thread,
};

pub(super) async fn start(
    RequestContext { server, connection }: RequestContext,
    params: ThreadStartParams,
) -> Result<EarlyReply<method::ThreadStart>, Failure> {
    if params
        .dynamic_tools
        .iter()
        .flatten()
        .any(DynamicToolSpec::is_tagged)
    {
        connection.note_newer();
    }
    if params.approvals_reviewer == Some(ApprovalsReviewer::AutoReview) {
        connection.note_newer();
    }
    let settings = settings::of_start(&params, &connection)?;
    let project = params.project_id.clone();
    let daybreak_enabled = params.daybreak_enabled;
    if daybreak_enabled.is_some() && params.ephemeral == Some(true) {
        let message = "daybreakEnabled is not supported for ephemeral threads";
        return Err(Failure::invalid(message));
    }
    let roots = workspace_roots(
        params.runtime_workspace_roots.as_ref(),
        params.environments.as_ref(),
    )?;
    let without_environment = params.environments.as_ref().is_some_and(Vec::is_empty);
    if let Some(project) = &project {
        projects::check(&server, project).await?;
    }
    let (mut actor, mut facts) =
        open_new(&server, params, settings, connection.knows_newer()).await?;
    facts.roots = roots;
    facts.without_environment = without_environment;
    actor.facts = facts.clone();
    let mut thread = facts.thread(ThreadStatus::Idle);
    thread.daybreak_enabled = daybreak_enabled;
    if let Some(is_enabled) = daybreak_enabled {
        set_daybreak(&server, &thread_id(&thread.id)?, is_enabled).await?;
    }
    if let Some(project) = project {
        projects::assign(&server, &thread.id, Some(project.clone())).await?;
        thread.project_id = Some(project);
    }
    let mut response = facts.started(thread.clone());
    response.approvals_reviewer = connection.reviewer_name(response.approvals_reviewer);
    Ok(EarlyReply::then(response, move || {
        let started = ThreadStartedNotification { thread };
        server.broadcast(&ServerNotification::ThreadStarted(started));
        actor.launch(&connection);
    }))
}

/// The tools for the goal of a thread; only newer clients show goals.
fn goal_tools(server: &Arc<AppServer>, newer: bool) -> Option<Arc<dyn HostTools>> {
    let is_on = server.host().has_goals();
    is_on.then(|| Arc::new(GoalTools::new(server, newer)) as Arc<dyn HostTools>)
}

/// The workspace folders of the request, which must be absolute.
fn workspace_roots(
    roots: Option<&Vec<String>>,
    environments: Option<&Vec<TurnEnvironmentParams>>,
) -> Result<Option<Vec<String>>, Failure> {
    let environments = environments.map(Vec::as_slice).unwrap_or_default();
    super::check_environments(environments)?;
    let of_environment = environments
        .first()
        .and_then(|one| one.runtime_workspace_roots.as_ref());
    let Some(roots) = roots.or(of_environment) else {
        return Ok(None);
    };
    for root in roots {
        fs::absolute(root)?;
    }
    Ok(Some(roots.clone()))
}

/// The instruction files of a thread. Without an environment those of the project do not apply.
async fn instruction_sources(config: &mut SessionConfig) -> Result<Vec<String>, Failure> {
    let mut own = config.clone();
    let read = move || {
        let cwd = own.has_environment.then_some(&*own.settings.cwd);
        let files = own.instruction_files.as_ref();
        let sources = files.map(|files| files.sources(cwd)).unwrap_or_default();
        if !own.has_environment {
            own.read_instructions();
        }
        Ok((sources, own.user_instructions))
    };
    let (sources, instructions) = blocking(read).await?;
    config.user_instructions = instructions;
    let shown = sources.iter().map(|path| path.display().to_string());
    Ok(shown.collect())
}

async fn open_new(
    server: &Arc<AppServer>,
    params: ThreadStartParams,
    settings: RequestedSettings,
    newer: bool,
) -> Result<(Actor, ThreadFacts), Failure> {
    let without_environment = params.environments.as_ref().is_some_and(Vec::is_empty);
    let tools = params.dynamic_tools.unwrap_or_default();
    dynamic_tools::check(&tools, newer)?;
    let mut prepared = prepare(server, settings).await?;
    let config = &mut prepared.config;
    config.ephemeral = params.ephemeral.unwrap_or_default();
    config.raw_items = params.experimental_raw_events;
    config.dynamic_tools = tools;
    config.host_tools = goal_tools(server, newer).filter(|_| !config.ephemeral);
    config.has_environment = !without_environment;
    config.thread_source = params.thread_source;
    let sources = instruction_sources(config).await?;
    let started = prepared.manager.start(prepared.config.clone());
    let started = started.map_err(|error| failed("creating", &error))?;
    let (actor, mut facts) = opened(server, prepared, started, String::new()).await?;
    facts.instruction_sources = sources;
    Ok((actor, facts))
}

pub(super) async fn resume(
    RequestContext { server, connection }: RequestContext,
    params: ThreadResumeParams,
) -> Result<EarlyReply<method::ThreadResume>, Failure> {
    if let Some(thread) = server.thread(&params.thread_id) {
        // A thread that nobody uses takes other settings, as if it had been unloaded already.
        let is_reloaded = settings::are_changed(&params) && thread.close_if_unused().await;
        if !is_reloaded {
            return Ok(join(thread, params));
        }
    }
    let settings = settings::of_resume(&params, &connection)?;
    if let Some(history) = params.history {
        return resume_history(server, connection, settings, history).await;
    }
    let path = params.path.as_deref();
    let (shown, ids) = (TurnsShown::of(params.exclude_turns), connection.item_ids());
    other_process_done(&server, &params).await;
    let source = source(
        &server,
        &params.thread_id,
        path,
        &settings,
        (shown, ids),
        None,
    )
    .await?;
    if let Some(thread) = server.thread(source.history.meta.id.as_str()) {
        // The path belongs to a loaded thread.
        return Ok(join(thread, params));
    }
    let settings = settings::with_stored(settings, &params, &source.history);
    let asked = params.initial_turns_page.clone();
    let page = first_page(&server, source.path.clone(), None, asked).await?;
    let (turns_cursor, items_cursor) = newest_cursors(&server, source.path.clone()).await?;
    let (mut actor, facts, path, loaded) =
        open_stored(&server, settings, source, connection.knows_newer()).await?;
    let usage = loaded.usage;
    let is_queue_held = loaded.is_interrupted;
    let is_newer = connection.knows_newer() && params.config.is_none();
    let changed = loaded.changed_settings.clone().filter(|_| is_newer);
    let is_restored = changed.is_some();
    if let Some(changed) = changed {
        actor.restore_settings(changed, &params).await;
    }
    let (mut thread, turns) = stored_thread(&path, loaded, ThreadStatus::Idle);
    add_metadata(&server, &mut thread).await;
    add_stored_state(&server, &mut thread).await?;
    if is_queue_held {
        actor.hold_queue();
    }
    broadcast_idle(&server, &thread.id);
    let mut resumed = facts.resumed(thread);
    if is_restored || (connection.knows_newer() && params.cwd.is_some()) {
        resumed.thread.cwd.clone_from(&resumed.cwd);
    }
    resumed.initial_turns_page = page;
    resumed.approvals_reviewer = connection.reviewer_name(resumed.approvals_reviewer);
    resumed.turns_backwards_cursor = turns_cursor;
    resumed.items_backwards_cursor = items_cursor;
    resumed.interrupted_turn = actor.interrupted_turn(&params, &connection);
    let newest = match (turns.newest(), &resumed.initial_turns_page) {
        (Some(turn), _) => Some(turn.to_owned()),
        (None, Some(page)) => page.data.last().map(|turn| turn.id.clone()),
        (None, None) if connection.knows_newer() => {
            newest_turn(&server, resumed.thread.path.clone()).await?
        }
        (None, None) => None,
    };
    Ok(EarlyReply::by(move |reply| async move {
        reply.accept_with(&resumed, &turns);
        show_usage(&connection, &resumed.thread.id, newest.as_deref(), usage);
        actor.show_goal(&connection);
        let handle = actor.launch(&connection);
        let interrupted = resumed.interrupted_turn.as_ref();
        if interrupted.is_some_and(|turn| turn.is_continued) {
            handle.continue_as_resumed().await;
        }
        handle.goal_changed().await;
    }))
}

/// Sends the token usage of the last turn to newer clients.
fn show_usage(
    connection: &Connection,
    thread: &str,
    turn: Option<&str>,
    usage: Option<TokenUsageInfo>,
) {
    if let (true, Some(turn), Some(usage)) = (connection.knows_newer(), turn, usage) {
        let updated = ThreadTokenUsageUpdatedNotification {
            thread_id: thread.to_owned(),
            turn_id: turn.to_owned(),
            token_usage: wire_usage(&usage),
        };
        connection.notify(&ServerNotification::ThreadTokenUsageUpdated(updated));
    }
}

/// The number and interval of checks whether another process has written its last lines.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(25);

/// The last lines of a turn may not be written yet if another process ran it. Waits briefly for them; a thread that
/// is still being written is refused when it is loaded.
async fn other_process_done(server: &AppServer, params: &ThreadResumeParams) {
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

/// Subscribes the client to a loaded thread.
fn join(thread: ThreadHandle, params: ThreadResumeParams) -> EarlyReply<method::ThreadResume> {
    EarlyReply::by(|reply| async move { thread.join(params, reply).await })
}

/// Opens a new thread with the history from the request.
async fn resume_history(
    server: Arc<AppServer>,
    connection: Arc<Connection>,
    settings: RequestedSettings,
    history: Vec<ResponseItem>,
) -> Result<EarlyReply<method::ThreadResume>, Failure> {
    if history.is_empty() {
        return Err(Failure::invalid("history must not be empty"));
    }
    let (actor, facts) = open_history(&server, settings, history).await?;
    let thread = facts.thread(ThreadStatus::Idle);
    broadcast_idle(&server, &thread.id);
    Ok(EarlyReply::then(facts.resumed(thread), move || {
        actor.launch(&connection);
    }))
}

async fn open_history(
    server: &Arc<AppServer>,
    settings: RequestedSettings,
    history: Vec<ResponseItem>,
) -> Result<(Actor, ThreadFacts), Failure> {
    let prepared = prepare(server, settings).await?;
    let preview = codex_core::first_user_text(&history);
    let config = prepared.config.clone();
    let started = prepared.manager.start_with(config, history);
    let started = started.map_err(|error| failed("resuming", &error))?;
    opened(server, prepared, started, preview).await
}

fn broadcast_idle(server: &AppServer, thread: &str) {
    let changed = ThreadStatusChangedNotification {
        thread_id: thread.to_owned(),
        status: ThreadStatus::Idle,
    };
    server.broadcast(&ServerNotification::ThreadStatusChanged(changed));
}

async fn open_stored(
    server: &Arc<AppServer>,
    mut settings: RequestedSettings,
    source: LoadSource,
    newer: bool,
) -> Result<(Actor, ThreadFacts, PathBuf, StoredHistory), Failure> {
    let LoadSource {
        path,
        history,
        stored,
    } = source;
    let stored_cwd = || history.meta.cwd.clone();
    settings.cwd.get_or_insert_with(stored_cwd);
    settings
        .disabled_plugins
        .clone_from(&history.disabled_plugins);
    let mut prepared = prepare(server, settings).await?;
    prepared.config.host_tools = goal_tools(server, newer);
    prepared
        .config
        .thread_source
        .clone_from(&history.meta.thread_source);
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
    let (mut actor, facts) = opened(server, prepared, started, preview).await?;
    actor.count_from(history.usage.as_ref());
    Ok((actor, facts, path, history))
}

pub(super) async fn fork(
    RequestContext { server, connection }: RequestContext,
    params: ThreadForkParams,
) -> Result<EarlyReply<method::ThreadFork>, Failure> {
    check_fork(&params)?;
    let settings = settings::of_fork(&params, &connection)?;
    if params.ephemeral && !params.exclude_turns && connection.excludes_turns_of_side_threads() {
        let message = "ephemeral paginated thread/fork requires `excludeTurns: true`";
        return Err(Failure::invalid(message));
    }
    let goal_of =
        (params.defer_goal_continuation && !params.ephemeral).then(|| params.thread_id.clone());
    let roots = workspace_roots(params.runtime_workspace_roots.as_ref(), None)?;
    let (mut actor, mut facts, mut thread, turns, usage) =
        fork_stored(&server, params, settings, connection.item_ids()).await?;
    let source_id = thread.id.clone();
    facts.roots = roots;
    actor.facts = facts.clone();
    let own = facts.thread(ThreadStatus::Idle);
    (thread.id, thread.path) = (own.id, own.path);
    (thread.session_id, thread.forked_from_id) = (own.session_id, own.forked_from_id);
    thread.attached_to_thread_id = own.attached_to_thread_id;
    thread.model = own.model;
    (thread.created_at, thread.updated_at) = (own.created_at, own.updated_at);
    (thread.recency_at, thread.environments) = (own.recency_at, own.environments);
    thread.can_accept_direct_input = own.can_accept_direct_input;
    (thread.originator, thread.thread_source) = (own.originator, own.thread_source);
    (thread.cwd, thread.ephemeral) = (own.cwd, own.ephemeral);
    (thread.model_provider, thread.source) = (own.model_provider, own.source);
    thread.cli_version = own.cli_version;
    thread.name = None;
    if connection.knows_newer() && !thread.ephemeral {
        thread.name = copy_name(&server, &source_id, &thread).await;
        copy_daybreak(&server, &source_id, &mut thread).await?;
        thread.project_id = projects::copy(&server, &source_id, &thread.id).await?;
    }
    if let Some(source) = &goal_of {
        let (state, source, fork) = (
            Arc::clone(server.state()),
            source.clone(),
            thread.id.clone(),
        );
        let copied = move || state.copy_goal(&source, &fork);
        blocking(move || copied().map_err(|error| Failure::internal(error.to_string()))).await?;
        actor.hold_goal();
    }
    Ok(EarlyReply::by(move |reply| async move {
        let mut forked = facts.forked(thread.clone());
        forked.approvals_reviewer = connection.reviewer_name(forked.approvals_reviewer);
        reply.accept_with(&forked, &turns);
        show_usage(&connection, &thread.id, turns.newest(), usage);
        if thread.attached_to_thread_id.is_none() {
            let started = ThreadStartedNotification { thread };
            server.broadcast_with(&ServerNotification::ThreadStarted(started), &turns);
        }
        if goal_of.is_some() {
            actor.show_goal(&connection);
        }
        actor.launch(&connection);
    }))
}

async fn copy_daybreak(
    server: &Arc<AppServer>,
    source: &str,
    fork: &mut Thread,
) -> Result<(), Failure> {
    let (state, source) = (Arc::clone(server.state()), source.to_owned());
    let found = blocking(move || state.daybreak_of(&source).map_err(state_failed));
    fork.daybreak_enabled = found.await?;
    match fork.daybreak_enabled {
        Some(is_enabled) => set_daybreak(server, &thread_id(&fork.id)?, is_enabled).await,
        None => Ok(()),
    }
}

/// Refuses invalid params of a fork.
fn check_fork(params: &ThreadForkParams) -> Result<(), Failure> {
    if params.attach_to_source && (params.ephemeral || params.defer_goal_continuation) {
        let message = "attachToSource cannot be combined with ephemeral or deferGoalContinuation";
        return Err(Failure::invalid(message));
    }
    if params.experimental_prediction_mode && !params.ephemeral {
        return Err(Failure::invalid(
            "experimentalPredictionMode requires ephemeral",
        ));
    }
    Ok(())
}

async fn fork_stored(
    server: &Arc<AppServer>,
    params: ThreadForkParams,
    mut settings: RequestedSettings,
    ids: ItemIds,
) -> Result<(Actor, ThreadFacts, Thread, Turns, Option<TokenUsageInfo>), Failure> {
    let cut = ForkEnd::of(&params)?;
    if let Some(running) = server.thread(&params.thread_id) {
        // Waits until the rollout is complete.
        running.describe().await;
    }
    let path = params.path.as_deref();
    let shown = TurnsShown::of(params.exclude_turns || params.attach_to_source);
    let source = source(
        server,
        &params.thread_id,
        path,
        &settings,
        (shown, ids),
        cut,
    )
    .await?;
    let LoadSource {
        path,
        history,
        stored,
    } = source;
    let stored_cwd = || history.meta.cwd.clone();
    settings.cwd.get_or_insert_with(stored_cwd);
    settings
        .disabled_plugins
        .clone_from(&history.disabled_plugins);
    let mut prepared = prepare(server, settings).await?;
    prepared.config.ephemeral = params.ephemeral;
    prepared.config.is_side_thread = params.attach_to_source;
    prepared.config.thread_source = params.thread_source;
    let offers_goals = ids == ItemIds::Streamed;
    prepared.config.host_tools = goal_tools(server, offers_goals).filter(|_| !params.ephemeral);
    let (engine, own) = (Arc::clone(&prepared.manager), prepared.config.clone());
    let started = blocking(move || {
        let started = engine.fork_stored(stored, own);
        started.map_err(|error| failed("forking", &error))
    });
    let started = started.await?;
    // The fork must exist on disk before the reply, even if this process ends right after it.
    let flushed = started.thread.flush().await;
    flushed.map_err(|error| Failure::internal(format!("error forking thread: {error}")))?;
    let preview = history.preview.clone();
    let (mut actor, facts) = opened(server, prepared, started, preview).await?;
    let usage = history.usage;
    actor.count_from(usage.as_ref());
    let (thread, turns) = stored_thread(&path, history, ThreadStatus::Idle);
    Ok((actor, facts, thread, turns, usage))
}

/// Loads a copy of a thread for a review, with configured settings.
pub(super) async fn copy_for_review(
    server: &Arc<AppServer>,
    thread_id: &str,
    connection: &Arc<Connection>,
) -> Result<ThreadHandle, Failure> {
    let params = ThreadForkParams {
        thread_id: thread_id.to_owned(),
        exclude_turns: true,
        ..ThreadForkParams::default()
    };
    let settings = settings::of_fork(&params, connection)?;
    let (actor, facts, ..) = fork_stored(server, params, settings, connection.item_ids())
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

/// A stored thread that is about to be loaded.
struct LoadSource {
    path: PathBuf,
    /// For clients.
    history: StoredHistory,
    /// For the engine.
    stored: StoredThread,
}

/// Reads the thread of a request, given by the path of its file, or by its id or the beginning of it.
async fn source(
    server: &Arc<AppServer>,
    id: &str,
    path: Option<&str>,
    settings: &RequestedSettings,
    (shown, ids): (TurnsShown, ItemIds),
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
            let missing = || Failure::invalid(format!("no rollout found for thread id {id}"));
            codex_rollout::find(&home, &id).ok_or_else(missing)
        })?;
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
            ids,
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

async fn prepare(
    server: &Arc<AppServer>,
    settings: RequestedSettings,
) -> Result<PreparedThread, Failure> {
    account_requirements::load(server).await?;
    let host = Arc::clone(server.host());
    let client_hooks = Arc::clone(server.client_hooks());
    let prepared = blocking(move || {
        let mut prepared = host.prepare(&settings).map_err(|reason| {
            Failure::invalid(format!("failed to load configuration: {reason}"))
        })?;
        // Stored turns must equal streamed ones.
        prepared.config.detail = PersistedDetail::Extended;
        prepared.config.replay_events = false;
        let limits = &mut prepared.config.settings.limits;
        *limits = settings.limits.or(*limits).or(settings.stored_limits);
        prepared.config.settings.disabled_plugins = settings.disabled_plugins;
        prepared.config.client_hooks = Some(client_hooks);
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
async fn opened(
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
    watch_skills(server, prepared.config.settings.cwd.clone()).await;
    let facts = ThreadFacts::new(&thread, *configured, &prepared.config, preview);
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
    let is_agent = matches!(config.source, SessionSource::SubAgent(_));
    let settings = prepared.memories.as_ref();
    if let Some(settings) = settings.filter(|_| !config.ephemeral && !is_agent) {
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

fn failed(doing: &str, error: &StartError) -> Failure {
    Failure::internal(format!("error {doing} thread: {error}"))
}
