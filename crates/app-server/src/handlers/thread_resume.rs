//! `thread/resume`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_app_server_protocol::v2::{
    ThreadResumeParams, ThreadStatus, ThreadStatusChangedNotification,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_core::StartError;
use codex_protocol::ResponseItem;
use codex_rollout::ThreadLocks;
use futures::FutureExt as _;

use super::call::{EarlyReply, RequestContext};
use super::stored::{add_metadata, add_stored_state};
use super::thread_open::{
    LoadSource, failed, given, goal_tools, name_mcp_tools, opened, prepare, source,
};
use super::thread_sample::newest_turn;
use super::{blocking, settings, thread_id};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::host::RequestedSettings;
use crate::server::AppServer;
use crate::thread::show_usage;
use crate::thread::stored::cursors::newest_cursors;
use crate::thread::stored::turn_pages::first_page;
use crate::thread::{Actor, StoredHistory, ThreadFacts, ThreadHandle, TurnsShown, stored_thread};

pub(super) async fn resume(
    RequestContext { server, connection }: RequestContext,
    mut params: ThreadResumeParams,
) -> Result<EarlyReply<method::ThreadResume>, Failure> {
    params.path = given(params.path);
    if let Some(thread) = server.thread(&params.thread_id) {
        // A thread that nobody uses takes other settings, as if it had been unloaded already.
        let is_reloaded = settings::are_changed(&params)
            && thread
                .call_now(Actor::close_if_unused)
                .await
                .unwrap_or(true);
        if !is_reloaded {
            return Ok(join(thread, params));
        }
        thread.closed().await;
    }
    let settings = settings::of_resume(&params, &connection)?;
    if let Some(history) = params.history {
        return resume_history(server, connection, settings, history).await;
    }
    let path = params.path.as_deref();
    let (shown, form) = (
        TurnsShown::from_exclude_turns(params.exclude_turns),
        connection.dialect().stored_form(),
    );
    other_process_done(&server, &params).await;
    let source = source(
        &server,
        &params.thread_id,
        path,
        &settings,
        (shown, form),
        None,
    )
    .await?;
    let id = source.history.meta.id.as_str();
    let _loading = server.begin_loading(id).await;
    if let Some(thread) = server.thread(id) {
        // The path belongs to a loaded thread, or another client has loaded it meanwhile.
        return Ok(join(thread, params));
    }
    let settings = settings::with_stored(settings, &params, &source.history);
    let asked = params.initial_turns_page.clone();
    let page = first_page(&server, source.path.clone(), None, asked).await?;
    let (turns_cursor, items_cursor) = newest_cursors(&server, source.path.clone()).await?;
    let (mut actor, facts, path, loaded) =
        open_stored(&server, settings, source, &connection).await?;
    let usage = loaded.usage;
    let is_queue_held = loaded.is_interrupted;
    let dialect = connection.dialect();
    let keeps_settings = dialect.keeps_settings() && params.config.is_none();
    let changed = loaded.changed_settings.clone().filter(|_| keeps_settings);
    let is_restored = changed.is_some();
    if let Some(changed) = changed {
        actor.restore_settings(changed, &params).await;
    }
    let is_other = keeps_settings && settings::are_changed(&params);
    if is_other && actor.stored_settings.as_ref() != Some(&facts.settings()) {
        actor.store_settings(&facts.settings()).await;
    }
    let (mut thread, turns) = stored_thread(&path, loaded, ThreadStatus::Idle);
    add_metadata(&server, &mut thread).await;
    add_stored_state(&server, &mut thread).await?;
    if is_queue_held {
        actor.hold_queue();
    }
    broadcast_idle(&server, &thread.id);
    let mut resumed = facts.resumed(thread);
    if is_restored || (dialect.keeps_settings() && params.cwd.is_some()) {
        resumed.thread.cwd.clone_from(&resumed.cwd);
    }
    resumed.initial_turns_page = page;
    resumed.approvals_reviewer = connection.reviewer_name(resumed.approvals_reviewer);
    resumed.sandbox = connection.shown_sandbox(resumed.sandbox);
    resumed.turns_backwards_cursor = turns_cursor;
    resumed.items_backwards_cursor = items_cursor;
    resumed.interrupted_turn = actor.interrupted_turn(&params, &connection);
    let newest = match (turns.newest_with_usage(None), &resumed.initial_turns_page) {
        (Some(turn), _) => Some(turn),
        (None, Some(page)) => page.data.last().map(|turn| turn.id.clone()),
        (None, None) if dialect.tells_usage_of_opened_threads() => {
            newest_turn(&server, resumed.thread.path.clone()).await?
        }
        (None, None) => None,
    };
    Ok(EarlyReply::sent_by(move |reply| async move {
        reply.accept_with(&resumed, &turns);
        show_usage(&connection, &resumed.thread.id, newest.as_deref(), usage);
        actor.show_goal(&connection);
        let handle = actor.launch(&connection);
        let interrupted = resumed.interrupted_turn.as_ref();
        if interrupted.is_some_and(|turn| turn.is_continued) {
            let go_on = handle.send(|thread| thread.continue_as_resumed().boxed());
            go_on.await;
        }
        handle.send(|thread| thread.work_changed().boxed()).await;
    }))
}

/// The number and interval of checks whether another process has written its last lines.
const MAX_CHECKS: u32 = 20;
const CHECK_INTERVAL: Duration = Duration::from_millis(25);

/// The last lines of a turn may not be written yet if another process ran it. Waits briefly for them; a thread that
/// is still being written is refused when it is loaded.
async fn other_process_done(server: &AppServer, params: &ThreadResumeParams) {
    let named = params.path.as_ref().map(PathBuf::from);
    let named = named.and_then(|path| codex_rollout::id_of(&path));
    let Some(id) = named.or_else(|| thread_id(&params.thread_id).ok()) else {
        return;
    };
    let locks = ThreadLocks::of_home(server.host().store().home());
    for _ in 0..MAX_CHECKS {
        if locks.other_holder(&id).is_none() {
            return;
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// Subscribes the client to a loaded thread.
fn join(thread: ThreadHandle, params: ThreadResumeParams) -> EarlyReply<method::ThreadResume> {
    EarlyReply::by_thread(thread, |thread, reply| thread.join(params, reply).boxed())
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
    let mut resumed = facts.resumed(thread);
    resumed.approvals_reviewer = connection.reviewer_name(resumed.approvals_reviewer);
    resumed.sandbox = connection.shown_sandbox(resumed.sandbox);
    Ok(EarlyReply::then(resumed, move || {
        actor.show_goal(&connection);
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
    settings: RequestedSettings,
    source: LoadSource,
    connection: &Connection,
) -> Result<(Actor, ThreadFacts, PathBuf, StoredHistory), Failure> {
    let mut prepared = source.prepare(server, settings).await?;
    let LoadSource {
        path,
        history,
        stored,
    } = source;
    prepared.config.services.host_tools = goal_tools(server, connection);
    name_mcp_tools(&mut prepared, connection);
    prepared
        .config
        .identity
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
