//! `thread/fork`, and copies of threads for reviews.

use std::sync::Arc;

use codex_app_server_protocol::v2::{
    Thread, ThreadForkParams, ThreadStartedNotification, ThreadStatus,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_projection::Turns;
use codex_protocol::{ThreadSettings, TokenUsageInfo};

use super::call::{EarlyReply, RequestContext};
use super::fork_cut::ForkEnd;
use super::thread_metadata::{copy_name, set_daybreak};
use super::thread_open::{LoadSource, failed, given, goal_tools, name_mcp_tools, opened, source};
use super::{blocking, projects, settings, state_failed, stored, thread_id};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::host::RequestedSettings;
use crate::server::AppServer;
use crate::thread::show_usage;
use crate::thread::{
    Actor, GivenPolicy, RequestedPlace, ThreadFacts, ThreadHandle, TurnsShown, stored_thread,
};

pub(super) async fn fork(
    RequestContext { server, connection }: RequestContext,
    mut params: ThreadForkParams,
) -> Result<EarlyReply<method::ThreadFork>, Failure> {
    params.path = given(params.path);
    check_fork(&params)?;
    let settings = settings::of_fork(&params, &connection)?;
    let excludes_turns = connection.dialect().side_threads_exclude_turns();
    check_history(&server, &params, excludes_turns).await?;
    let goal_of =
        (params.defer_goal_continuation && !params.ephemeral).then(|| params.thread_id.clone());
    let place = RequestedPlace {
        roots: params.runtime_workspace_roots.clone(),
        ..RequestedPlace::default()
    };
    place.check(&server)?;
    let (mut actor, mut facts, mut thread, turns, usage) =
        fork_stored(&server, params, settings, &connection).await?;
    let source_id = thread.id.clone();
    facts.place = Some(place.named(&facts.settings().cwd));
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
    if connection.dialect().fork_keeps_metadata() && !thread.ephemeral {
        thread.name = copy_name(&server, &source_id, &thread).await;
        copy_daybreak(&server, &source_id, &mut thread).await?;
        thread.project_id = projects::copy(&server, &source_id, &thread.id).await?;
        copy_attachments(&server, &source_id, &thread.id).await?;
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
    Ok(EarlyReply::sent_by(move |reply| async move {
        let mut forked = facts.forked(thread.clone());
        forked.approvals_reviewer = connection.reviewer_name(forked.approvals_reviewer);
        forked.sandbox = connection.shown_sandbox(forked.sandbox);
        reply.accept_with(&forked, &turns);
        show_usage(
            &connection,
            &thread.id,
            turns.newest_with_usage(None).as_deref(),
            usage,
        );
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

async fn copy_attachments(
    server: &Arc<AppServer>,
    source: &str,
    fork: &str,
) -> Result<(), Failure> {
    let (state, source, fork) = (
        Arc::clone(server.state()),
        source.to_owned(),
        fork.to_owned(),
    );
    blocking(move || state.copy_attachments(&source, &fork).map_err(state_failed)).await
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

/// Refuses what the history of the source does not allow.
async fn check_history(
    server: &AppServer,
    params: &ThreadForkParams,
    excludes_turns: bool,
) -> Result<(), Failure> {
    let must_exclude = params.ephemeral && !params.exclude_turns && excludes_turns;
    if !must_exclude && !params.attach_to_source {
        return Ok(());
    }
    let record = match thread_id(&params.thread_id) {
        Ok(id) => stored::record(server, &id).await?,
        Err(_) => None,
    };
    let is_legacy = record.is_some_and(|record| record.facts.has_legacy_history);
    Err(Failure::invalid(match is_legacy {
        true if params.attach_to_source => "attachToSource requires a paginated parent",
        false if must_exclude => "ephemeral paginated thread/fork requires `excludeTurns: true`",
        _ => return Ok(()),
    }))
}

async fn fork_stored(
    server: &Arc<AppServer>,
    params: ThreadForkParams,
    mut settings: RequestedSettings,
    connection: &Connection,
) -> Result<(Actor, ThreadFacts, Thread, Turns, Option<TokenUsageInfo>), Failure> {
    let cut = ForkEnd::from_params(&params)?;
    let form = connection.dialect().stored_form();
    let mut inherited = None;
    if let Some(running) = server.thread(&params.thread_id) {
        // Waits until the rollout is complete.
        running.describe().await;
        let engine = running.engine().await;
        inherited = engine
            .ok()
            .map(|engine| ThreadSettings::clone(&engine.settings()));
    }
    let path = params.path.as_deref();
    let shown = TurnsShown::from_exclude_turns(params.exclude_turns || params.attach_to_source);
    let source = source(
        server,
        &params.thread_id,
        path,
        &settings,
        (shown, form),
        cut,
    )
    .await?;
    let inherited = inherited
        .or_else(|| source.history.changed_settings.clone())
        .filter(|_| connection.dialect().fork_keeps_policy() && params.config.is_none());
    if let Some(inherited) = inherited.as_ref().filter(|_| settings.cwd.is_none()) {
        let cwd = Some(&inherited.cwd).filter(|cwd| codex_mounts::is_dir(cwd));
        settings.cwd = cwd.map(|cwd| cwd.display().to_string());
    }
    let mut prepared = source.prepare(server, settings).await?;
    let LoadSource {
        path,
        history,
        stored,
    } = source;
    prepared.config.identity.ephemeral = params.ephemeral;
    prepared.config.identity.is_side_thread = params.attach_to_source;
    prepared
        .config
        .identity
        .thread_source
        .clone_from(&params.thread_source);
    prepared.config.services.host_tools =
        goal_tools(server, connection).filter(|_| !params.ephemeral);
    name_mcp_tools(&mut prepared, connection);
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
    if let Some(inherited) = inherited {
        let given = GivenPolicy::of_fork(&params);
        actor.inherit_settings(inherited, &given).await;
    }
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
    let (actor, facts, ..) = fork_stored(server, params, settings, connection)
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
