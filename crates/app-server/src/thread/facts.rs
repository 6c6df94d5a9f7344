//! The facts about a thread, live or stored, and the wire objects made from them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use codex_app_server_protocol::v2::{
    GitInfo, Thread, ThreadEnvironment, ThreadForkResponse, ThreadHistoryMode,
    ThreadResumeResponse, ThreadStartResponse, ThreadStatus,
};
use codex_core::SessionConfig;
use codex_projection::{Turns, environments, wire_settings, wire_source};
use codex_protocol::{
    SessionConfiguredEvent, SessionSource, SubAgentSource, ThreadId, ThreadSettings,
};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::StoredHistory;
use super::workplace::NamedPlace;

/// The facts about a loaded thread.
#[derive(Clone, Debug)]
pub(crate) struct ThreadFacts {
    session: codex_core::Thread,
    forked_from: Option<ThreadId>,
    pub(crate) preview: String,
    pub(crate) path: Option<PathBuf>,
    created_at: i64,
    cli_version: String,
    source: SessionSource,
    /// The `threadSource` from the request that started it.
    pub(crate) thread_source: Option<String>,
    /// The client that created it.
    originator: String,
    /// Where its commands run, as clients have named it.
    pub(crate) place: Option<NamedPlace>,
    /// The instruction files for the model.
    pub(crate) instruction_sources: Vec<String>,
    /// Whether it belongs to the thread that it was forked from.
    is_side_thread: bool,
    pub(super) has_legacy_history: bool,
    /// The overrides of the request that opened it, or its root.
    pub(crate) overrides: Arc<Map<String, Value>>,
}

/// A reply with a thread and its settings.
macro_rules! opened {
    ($response:ident, $facts:expr, $thread:expr $(, $member:ident: $value:expr)*) => {{
        let settings = wire_settings(&$facts.settings());
        $response {
            thread: $facts.with_live($thread),
            model: settings.model,
            model_provider: settings.model_provider,
            service_tier: settings.service_tier,
            cwd: $facts.cwd(),
            approval_policy: settings.approval_policy,
            approvals_reviewer: settings.approvals_reviewer,
            sandbox: settings.sandbox_policy,
            active_permission_profile: settings.active_permission_profile,
            reasoning_effort: settings.effort,
            disabled_plugin_ids: settings.disabled_plugin_ids,
            runtime_workspace_roots: $facts.workspace_roots(),
            instruction_sources: $facts.instruction_sources.clone(),
            multi_agent_mode: settings.multi_agent_mode,
            $($member: $value,)*
        }
    }};
}

impl ThreadFacts {
    pub(crate) fn new(
        thread: &codex_core::Thread,
        configured: SessionConfiguredEvent,
        config: &SessionConfig,
        preview: String,
    ) -> Self {
        Self {
            session: thread.clone(),
            forked_from: configured.forked_from_id,
            preview,
            path: configured.rollout_path.map(PathBuf::from),
            created_at: Timestamp::now().as_second(),
            cli_version: config.identity.version.clone(),
            source: config.identity.source.clone(),
            thread_source: config.identity.thread_source.clone(),
            originator: config.identity.originator.clone(),
            place: None,
            instruction_sources: Vec::new(),
            is_side_thread: config.identity.is_side_thread,
            has_legacy_history: config.identity.has_legacy_history,
            overrides: Arc::default(),
        }
    }

    /// Whether its turns are unread until a user has read them. Threads that programs start for a purpose of their own
    /// name another source.
    pub(super) fn is_for_user(&self) -> bool {
        let source = self.thread_source.as_deref();
        source.is_none_or(|source| source == "user")
    }

    /// The thread that this one is a side thread of.
    fn attached_to(&self) -> Option<String> {
        let source = self.forked_from.as_ref().filter(|_| self.is_side_thread);
        source.map(ToString::to_string)
    }

    /// The working folder. Commands run in that of the environment.
    pub(super) fn cwd(&self) -> String {
        let cwd = &self.settings().cwd;
        let named = self.place.as_ref().and_then(|place| place.cwd(cwd));
        named.map_or_else(|| cwd.display().to_string(), str::to_owned)
    }

    /// The workspace folders.
    pub(crate) fn workspace_roots(&self) -> Vec<String> {
        let settings = self.settings();
        if settings.without_environment {
            return Vec::new();
        }
        if let Some(first) = settings.environments.first() {
            return environments(&settings)
                .into_iter()
                .find(|one| one.environment_id == first.id)
                .map(|one| one.runtime_workspace_roots)
                .unwrap_or_default();
        }
        let cwd = &settings.cwd;
        let named = self.place.as_ref().and_then(|place| place.roots(cwd));
        named.map_or_else(|| vec![cwd.display().to_string()], Clone::clone)
    }

    pub(super) fn environments(&self) -> Vec<ThreadEnvironment> {
        let settings = self.settings();
        let mut all = environments(&settings);
        if let [only] = &mut all[..]
            && settings.environments.is_empty()
        {
            only.runtime_workspace_roots = self.workspace_roots();
        }
        all
    }

    /// The current settings.
    pub(crate) fn settings(&self) -> Arc<ThreadSettings> {
        self.session.settings()
    }

    /// The thread of a live session, without turns.
    pub(crate) fn thread(&self, status: ThreadStatus) -> Thread {
        let (id, settings) = (self.session.id().to_string(), self.settings());
        let path = self.path.as_deref();
        let (agent_nickname, agent_role) = match &self.source {
            SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
                agent_nickname,
                agent_role,
                ..
            }) => (agent_nickname.clone(), agent_role.clone()),
            _ => (None, None),
        };
        let updated_at = path.and_then(modified).unwrap_or(self.created_at);
        let thread = Thread {
            session_id: Some(id.clone()),
            id,
            forked_from_id: self.forked_from.as_ref().map(ToString::to_string),
            model: Some(settings.model.clone()),
            attached_to_thread_id: self.attached_to(),
            project_id: None,
            section: None,
            section_entered_at: None,
            originator: Some(self.originator.clone()),
            extra: None,
            daybreak_enabled: None,
            parent_thread_id: parent_of(&self.source),
            thread_source: None,
            history_mode: Some(history_mode(self.has_legacy_history)),
            reasoning_effort: None,
            environments: None,
            can_accept_direct_input: None,
            recency_at: Some(updated_at),
            preview: self.preview.clone(),
            ephemeral: path.is_none(),
            model_provider: settings.provider.clone(),
            created_at: self.created_at,
            updated_at,
            status,
            path: path.map(|path| path.display().to_string()),
            cwd: self.cwd(),
            cli_version: self.cli_version.clone(),
            source: wire_source(self.source.clone()),
            agent_nickname,
            agent_role,
            git_info: None,
            name: None,
            turns: Vec::new(),
        };
        self.with_live(thread)
    }

    /// Whether clients may give the thread input: agents that have a path take it from other agents alone.
    pub(crate) fn takes_input(&self) -> bool {
        !matches!(
            &self.source,
            SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
                agent_path: Some(_),
                ..
            })
        )
    }

    /// Adds what is known only of loaded threads.
    pub(crate) fn with_live(&self, mut thread: Thread) -> Thread {
        let settings = self.settings();
        thread.reasoning_effort = settings.effort.clone();
        thread.thread_source.clone_from(&self.thread_source);
        thread.can_accept_direct_input = Some(self.takes_input());
        thread.environments = Some(self.environments());
        thread.model = Some(settings.model.clone());
        thread
    }

    /// The reply to `thread/start`.
    pub(crate) fn started(&self, thread: Thread) -> ThreadStartResponse {
        opened!(ThreadStartResponse, self, thread)
    }

    /// The reply to `thread/resume`.
    pub(crate) fn resumed(&self, thread: Thread) -> ThreadResumeResponse {
        let mode = self.settings().collaboration_mode();
        opened!(
            ThreadResumeResponse, self, thread,
            initial_turns_page: None,
            interrupted_turn: None,
            collaboration_mode: Some(mode),
            turns_backwards_cursor: None,
            items_backwards_cursor: None
        )
    }

    /// The reply to `thread/fork`.
    pub(crate) fn forked(&self, thread: Thread) -> ThreadForkResponse {
        opened!(ThreadForkResponse, self, thread)
    }
}

/// The thread in a file; its turns are inserted into the message later.
pub(crate) fn stored_thread(
    path: &Path,
    history: StoredHistory,
    status: ThreadStatus,
) -> (Thread, Turns) {
    let meta = history.meta;
    let history_mode = history_mode(meta.is_legacy());
    let attached_to = meta.attached_to().map(ToString::to_string);
    let created: Option<Timestamp> = meta.timestamp.parse().ok();
    let created_at = created.map_or(0, Timestamp::as_second);
    let git = meta.git.as_ref().map(|git| GitInfo {
        sha: git.commit_hash.clone(),
        branch: git.branch.clone(),
        origin_url: git.repository_url.clone(),
    });
    let updated_at = modified(path).unwrap_or(created_at);
    let thread = Thread {
        id: meta.id.to_string(),
        session_id: Some(meta.id.to_string()),
        forked_from_id: meta.forked_from_id.as_ref().map(ToString::to_string),
        model: history.model,
        attached_to_thread_id: attached_to,
        project_id: None,
        section: None,
        section_entered_at: None,
        originator: Some(meta.originator),
        extra: None,
        daybreak_enabled: None,
        parent_thread_id: parent_of(&meta.source),
        thread_source: meta.thread_source,
        history_mode: Some(history_mode),
        reasoning_effort: history.effort,
        environments: None,
        can_accept_direct_input: None,
        recency_at: Some(updated_at),
        preview: history.preview,
        ephemeral: false,
        model_provider: meta.model_provider.unwrap_or_default(),
        created_at,
        updated_at,
        status,
        path: Some(path.display().to_string()),
        cwd: meta.cwd,
        cli_version: meta.cli_version,
        source: wire_source(meta.source),
        agent_nickname: meta.agent_nickname,
        agent_role: meta.agent_role,
        git_info: git,
        name: None,
        turns: Vec::new(),
    };
    (thread, history.turns)
}

pub(crate) fn history_mode(is_legacy: bool) -> ThreadHistoryMode {
    if is_legacy {
        ThreadHistoryMode::Legacy
    } else {
        ThreadHistoryMode::Paginated
    }
}

/// The parent of a thread with this source.
fn parent_of(source: &SessionSource) -> Option<String> {
    match source {
        SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
            parent_thread_id, ..
        }) => Some(parent_thread_id.to_string()),
        _ => None,
    }
}

fn modified(path: &Path) -> Option<i64> {
    let modified = codex_mounts::metadata(path).ok()?.modified().ok()?;
    let since = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}
