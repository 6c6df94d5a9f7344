//! `thread/start`.

use std::sync::Arc;

use codex_app_server_protocol::v2::{
    ThreadHistoryMode, ThreadStartParams, ThreadStartedNotification, ThreadStatus,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_core::SessionConfig;

use super::call::{EarlyReply, RequestContext};
use super::thread_metadata::set_daybreak;
use super::thread_open::{failed, goal_tools, name_mcp_tools, opened, prepare};
use super::{blocking, dynamic_tools, projects, settings, thread_id};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::host::RequestedSettings;
use crate::server::AppServer;
use crate::thread::{Actor, RequestedPlace, ThreadFacts};

pub(super) async fn start(
    RequestContext { server, connection }: RequestContext,
    params: ThreadStartParams,
) -> Result<EarlyReply<method::ThreadStart>, Failure> {
    let settings = settings::of_start(&params, &connection)?;
    let project = params.project_id.clone();
    let daybreak_enabled = params.daybreak_enabled;
    if daybreak_enabled.is_some() && params.ephemeral == Some(true) {
        let message = "daybreakEnabled is not supported for ephemeral threads";
        return Err(Failure::invalid(message));
    }
    let place = RequestedPlace {
        cwd: params.cwd.clone(),
        roots: params.runtime_workspace_roots.clone(),
        environments: params.environments.clone(),
    };
    place.check(&server)?;
    if let Some(project) = &project {
        projects::check(&server, project).await?;
    }
    let (mut actor, mut facts) = open_new(&server, params, settings, &place, &connection).await?;
    facts.place = Some(place.named(&facts.settings().cwd));
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
    response.sandbox = connection.shown_sandbox(response.sandbox);
    Ok(EarlyReply::then(response, move || {
        let started = ThreadStartedNotification { thread };
        server.broadcast(&ServerNotification::ThreadStarted(started));
        actor.launch(&connection);
    }))
}

async fn open_new(
    server: &Arc<AppServer>,
    params: ThreadStartParams,
    settings: RequestedSettings,
    place: &RequestedPlace,
    connection: &Connection,
) -> Result<(Actor, ThreadFacts), Failure> {
    let tools = params.dynamic_tools.unwrap_or_default();
    let dialect = connection.dialect();
    dynamic_tools::check(&tools, dialect.checks_all_dynamic_tools())?;
    let mut prepared = prepare(server, settings).await?;
    name_mcp_tools(&mut prepared, connection);
    let config = &mut prepared.config;
    config.identity.ephemeral = params.ephemeral.unwrap_or_default();
    config.options.raw_items = params.experimental_raw_events;
    config.options.dynamic_tools = tools;
    config.services.host_tools =
        goal_tools(server, connection).filter(|_| !config.identity.ephemeral);
    if let Some(folder) = place.environment_folder() {
        config.options.settings.cwd = server.host().configuration().folder(folder);
    }
    config.options.settings.without_environment = place.has_environment() == Some(false);
    config.options.settings.environments = place.choices().unwrap_or_default();
    config.identity.thread_source = params.thread_source;
    config.identity.has_legacy_history = params.history_mode == Some(ThreadHistoryMode::Legacy);
    config.identity.has_paginated_history =
        dialect.numbers_lines() && !config.identity.has_legacy_history;
    let sources = instruction_sources(config, place.environments.is_some()).await?;
    let started = prepared.manager.start(prepared.config.clone());
    let started = started.map_err(|error| failed("creating", &error))?;
    let (actor, mut facts) = opened(server, prepared, started, String::new()).await?;
    facts.instruction_sources = sources;
    Ok((actor, facts))
}

/// The instruction files of a thread. Those of the project do not apply without an environment, so they are read again if the
/// client has chosen the environments.
async fn instruction_sources(
    config: &mut SessionConfig,
    has_chosen_environments: bool,
) -> Result<Vec<String>, Failure> {
    let mut own = config.clone();
    let read = move || {
        let settings = &own.options.settings;
        let cwd = settings.is_local_first().then_some(&*settings.cwd);
        let files = own.services.instruction_files.as_ref();
        let sources = files.map(|files| files.sources(cwd)).unwrap_or_default();
        if has_chosen_environments {
            own.read_instructions();
        }
        Ok((sources, own.options.user_instructions))
    };
    let (sources, instructions) = blocking(read).await?;
    config.options.user_instructions = instructions;
    let on_machines = config.learn_of_machines().await;
    let shown = sources.iter().map(|path| path.display().to_string());
    Ok(shown.chain(on_machines).collect())
}
