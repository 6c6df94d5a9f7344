//! How a thread begins: what it takes over from a stored one, and the first lines of its own file.

use std::path::{Path, PathBuf};

use codex_protocol::{
    BaseInstructions, EventMsg, RolloutItem, SessionMeta, SessionSource, SubAgentSource, ThreadId,
};
use codex_rollout::{LineKind, is_persisted};

use crate::config::SessionConfig;
use crate::events::Emitter;
use crate::repository;
use crate::session::Services;
use crate::stored::StoredThread;

/// The file of a thread.
#[derive(Debug)]
pub(crate) enum RolloutFile {
    New,
    /// New, and goes on from another one.
    Copy {
        source: PathBuf,
        /// How much of it is taken along.
        length: u64,
    },
    Existing {
        path: PathBuf,
        /// How long it was when it was loaded.
        length: u64,
    },
}

/// What a new file begins with, after what the thread is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CopiedLines<'a> {
    Items(&'a [RolloutItem]),
    /// That much of a file.
    File(&'a Path, u64),
}

/// What a loaded thread brings along where the configuration says nothing.
pub(crate) fn inherit(config: &mut SessionConfig, stored: &StoredThread) {
    if config.base_instructions.is_none() {
        config.base_instructions.clone_from(&stored.instructions);
    }
    if config.dynamic_tools.is_empty() {
        config.dynamic_tools = stored.meta.dynamic_tools.clone().unwrap_or_default();
    }
}

/// The first lines of a new file, and those of the thread that it is forked from.
pub(crate) fn write_start(
    services: &Services,
    id: &ThreadId,
    forked_from: Option<ThreadId>,
    copied: CopiedLines<'_>,
) {
    let (config, emitter) = (&services.config, &services.emitter);
    let tools = &services.dynamic_tools;
    let is_fork = forked_from.is_some();
    let (agent_nickname, agent_role) = match &config.source {
        SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
            agent_nickname,
            agent_role,
            ..
        }) => (agent_nickname.clone(), agent_role.clone()),
        _ => (None, None),
    };
    let meta = SessionMeta {
        id: id.clone(),
        forked_from_id: forked_from,
        timestamp: format!("{:.3}", services.clock.now()),
        cwd: config.settings.cwd.display().to_string(),
        originator: config.originator.clone(),
        cli_version: config.version.clone(),
        source: config.source.clone(),
        agent_nickname,
        agent_role,
        agent_path: None,
        model_provider: Some(config.settings.provider.clone()),
        base_instructions: Some(BaseInstructions {
            text: services.instructions.to_string(),
        }),
        dynamic_tools: (!tools.is_empty()).then(|| tools.clone()),
        memory_mode: None,
        git: None,
    };
    emitter.log(LineKind::SessionMeta, &meta);
    match copied {
        CopiedLines::Items(lines) => write_lines(emitter, lines),
        CopiedLines::File(source, length) => {
            emitter.with_log(|log| log.append_copy(source.to_owned(), length));
        }
    }
    if is_fork {
        repository::materialise(services);
    }
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
    if is_new || !config.replay_events {
        return None;
    }
    let events = lines.iter().filter_map(|line| match line {
        RolloutItem::EventMsg(event) if is_persisted(event, config.detail) => Some(event.clone()),
        _ => None,
    });
    Some(events.collect())
}
