//! The beginning of a thread: what it takes over from a stored one, and the first lines of its file.

use codex_protocol::{
    BaseInstructions, DynamicToolSpec, EventMsg, LEGACY_HISTORY, PAGINATED_HISTORY, RolloutItem,
    SessionMeta, SessionSource, SubAgentSource, ThreadId,
};
use codex_rollout::{LineKind, is_persisted};
use codex_session_base::config::SessionConfig;
use codex_session_base::events::Emitter;
use codex_session_base::session_context::SessionContext;
use codex_session_base::stored_thread::{StoredLines, StoredThread};

use crate::git;
use crate::thread_origin::RolloutFile;

/// How a thread is stored whose agents have paths.
const TEAM_VERSION: &str = "v2";

/// Takes over from a stored thread what the configuration does not set.
pub(crate) fn inherit(config: &mut SessionConfig, stored: &StoredThread) {
    if config.options.base_instructions.is_none() {
        config
            .options
            .base_instructions
            .clone_from(&stored.instructions);
    }
    if config.options.dynamic_tools.is_empty() {
        config.options.dynamic_tools = stored.meta.dynamic_tools.clone().unwrap_or_default();
    }
    if stored.meta.multi_agent_version.as_deref() == Some(TEAM_VERSION)
        && let Some(agents) = &mut config.options.agents
    {
        agents.team.get_or_insert_default();
    }
}

/// Writes the first line of a new file, and the lines that it copies.
pub(crate) fn write_start(
    session: &SessionContext,
    instructions: &str,
    tools: &[DynamicToolSpec],
    file: &RolloutFile,
    forked_from: Option<&ThreadId>,
    lines: &[RolloutItem],
) {
    let (config, emitter) = (&session.config, &session.emitter);
    let (agent_nickname, agent_role, agent_path) = match &config.identity.source {
        SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
            agent_nickname,
            agent_role,
            agent_path,
            ..
        }) => (
            agent_nickname.clone(),
            agent_role.clone(),
            agent_path.clone(),
        ),
        _ => (None, None, None),
    };
    let has_team = (config.options.agents.as_ref()).is_some_and(|agents| agents.team.is_some());
    let meta = SessionMeta {
        id: emitter.thread().clone(),
        forked_from_id: forked_from.cloned(),
        cache_root: config.identity.cache_root.clone(),
        attached_thread: config.identity.is_side_thread,
        history_mode: history_mode(config),
        timestamp: format!("{:.3}", session.clock.now()),
        cwd: config.options.settings.cwd.display().to_string(),
        originator: config.identity.originator.clone(),
        cli_version: config.identity.version.clone(),
        source: config.identity.source.clone(),
        thread_source: config.identity.thread_source.clone(),
        agent_nickname,
        agent_role,
        agent_path,
        multi_agent_version: has_team.then(|| TEAM_VERSION.to_owned()),
        model_provider: Some(config.options.settings.provider.clone()),
        base_instructions: Some(BaseInstructions {
            text: instructions.to_owned(),
        }),
        dynamic_tools: (!tools.is_empty()).then(|| tools.to_vec()),
        memory_mode: config.options.memory_mode.clone(),
        git: None,
    };
    emitter.log(LineKind::SessionMeta, &meta);
    match file {
        RolloutFile::Copy { source, length } => {
            emitter.with_log(|log| log.append_copy(source.clone(), *length));
        }
        RolloutFile::New | RolloutFile::Existing { .. } => write_lines(emitter, lines),
    }
    let is_from_another = forked_from.is_some() || !lines.is_empty();
    if is_from_another && (config.identity.is_side_thread || meta.agent_path.is_some()) {
        emitter.log(LineKind::EventMsg, &EventMsg::InheritedHistoryEnds);
    }
    if forked_from.is_some() {
        git::materialise(session);
    }
}

/// Whether a file has or gets the form that other engines show whole. A copy has the form of its source, and lines that were
/// taken over one by one have lost what those engines go by. New agents of a thread take over its form.
pub(crate) fn is_paginated(
    config: &SessionConfig,
    file: &RolloutFile,
    lines: &StoredLines,
) -> bool {
    match file {
        _ if config.identity.has_legacy_history => false,
        RolloutFile::New => config.identity.has_paginated_history && lines.read().is_empty(),
        RolloutFile::Copy { source, .. } => codex_rollout::is_numbered_from_zero(source),
        RolloutFile::Existing { path, .. } => codex_rollout::has_ordinals(path),
    }
}

fn history_mode(config: &SessionConfig) -> Option<String> {
    if config.identity.has_legacy_history {
        return Some(LEGACY_HISTORY.to_owned());
    }
    let is_paginated = config.identity.has_paginated_history;
    is_paginated.then(|| PAGINATED_HISTORY.to_owned())
}

fn write_lines(emitter: &Emitter, lines: &[RolloutItem]) {
    for line in lines {
        match line {
            RolloutItem::SessionMeta(meta) => emitter.log(LineKind::SessionMeta, meta),
            RolloutItem::ResponseItem(item) => emitter.log(LineKind::ResponseItem, item),
            RolloutItem::EventMsg(event) => emitter.log(LineKind::EventMsg, event),
            RolloutItem::TurnContext(context) => emitter.log(LineKind::TurnContext, context),
            RolloutItem::Compacted(compacted) => emitter.log(LineKind::Compacted, compacted),
            _ => {}
        }
    }
}

pub(crate) fn initial_messages(
    config: &SessionConfig,
    file: &RolloutFile,
    forked_from: Option<&ThreadId>,
    lines: &[RolloutItem],
) -> Option<Vec<EventMsg>> {
    let is_new = matches!(file, RolloutFile::New) && forked_from.is_none();
    if is_new || !config.options.replay_events {
        return None;
    }
    let events = lines.iter().filter_map(|line| match line {
        RolloutItem::EventMsg(event) if is_persisted(event, config.options.detail) => {
            Some(event.clone())
        }
        _ => None,
    });
    Some(events.collect())
}
