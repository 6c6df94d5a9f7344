//! What is known of a thread, live or stored, and the objects that the wire shows of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use codex_app_server_protocol::v2::{
    ActivePermissionProfile, GitInfo, Thread, ThreadEnvironment, ThreadForkResponse,
    ThreadHistoryMode, ThreadResumeResponse, ThreadSettings, ThreadStartResponse, ThreadStatus,
};
use codex_core::SessionConfig;
use codex_protocol::{
    CollaborationMode, ModeKind, SessionConfiguredEvent, SessionSource, Settings, SubAgentSource,
    Update,
};
use jiff::Timestamp;

use super::History;
use crate::projection::{Turns, wire_approval, wire_reviewer, wire_sandbox, wire_source};

/// A loaded thread: where it is and what it is set to.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) settings: SessionConfiguredEvent,
    pub(crate) preview: String,
    pub(crate) path: Option<PathBuf>,
    created_at: i64,
    cli_version: String,
    source: SessionSource,
    /// How model and person work together, once that was said.
    pub(crate) mode: Option<CollaborationMode>,
    /// The name that its sandbox was chosen by.
    pub(crate) permissions: Option<String>,
    /// What the client that started it said that it is for.
    pub(crate) thread_source: Option<String>,
}

impl Facts {
    pub(crate) fn new(
        settings: SessionConfiguredEvent,
        config: &SessionConfig,
        preview: String,
    ) -> Self {
        Self {
            preview,
            path: settings.rollout_path.clone().map(PathBuf::from),
            created_at: Timestamp::now().as_second(),
            cli_version: config.version.clone(),
            source: config.source.clone(),
            mode: None,
            permissions: None,
            thread_source: None,
            settings,
        }
    }

    /// The thread of a live session, without turns.
    pub(crate) fn thread(&self, status: ThreadStatus) -> Thread {
        let path = self.path.as_deref();
        let forked_from = self.settings.forked_from_id.as_ref();
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
            id: self.settings.session_id.to_string(),
            session_id: Some(self.settings.session_id.to_string()),
            forked_from_id: forked_from.map(ToString::to_string),
            model: Some(self.settings.model.clone()),
            project_id: Update::Clear,
            parent_thread_id: parent_of(&self.source),
            thread_source: None,
            history_mode: Some(ThreadHistoryMode::Legacy),
            reasoning_effort: None,
            environments: None,
            can_accept_direct_input: None,
            recency_at: Some(updated_at),
            preview: self.preview.clone(),
            ephemeral: path.is_none(),
            model_provider: self.settings.model_provider_id.clone(),
            created_at: self.created_at,
            updated_at,
            status,
            path: path.map(|path| path.display().to_string()),
            cwd: self.settings.cwd.clone(),
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

    /// The thread with what is known of it only while it is loaded.
    pub(crate) fn with_live(&self, mut thread: Thread) -> Thread {
        thread.reasoning_effort = self.settings.reasoning_effort.clone();
        thread.thread_source.clone_from(&self.thread_source);
        thread.can_accept_direct_input = Some(true);
        thread.environments = Some(vec![self.environment()]);
        thread
    }

    fn environment(&self) -> ThreadEnvironment {
        let cwd = &self.settings.cwd;
        ThreadEnvironment {
            environment_id: "local".to_owned(),
            cwd: cwd.clone(),
            runtime_workspace_roots: vec![cwd.clone()],
        }
    }

    fn permission_profile(&self) -> Option<ActivePermissionProfile> {
        let id = self.permissions.clone();
        id.map(|id| ActivePermissionProfile { id })
    }

    /// What the next turn will have.
    pub(crate) fn thread_settings(&self) -> ThreadSettings {
        let settings = &self.settings;
        let default = || CollaborationMode {
            mode: ModeKind::Default,
            settings: Settings {
                model: settings.model.clone(),
                reasoning_effort: settings.reasoning_effort.clone(),
                developer_instructions: None,
            },
        };
        ThreadSettings {
            cwd: settings.cwd.clone(),
            environments: vec![self.environment()],
            approval_policy: wire_approval(settings.approval_policy),
            approvals_reviewer: wire_reviewer(settings.approvals_reviewer),
            sandbox_policy: wire_sandbox(settings.sandbox_policy.clone()),
            active_permission_profile: self.permission_profile(),
            model: settings.model.clone(),
            model_provider: settings.model_provider_id.clone(),
            service_tier: settings.service_tier.clone(),
            effort: settings.reasoning_effort.clone(),
            collaboration_mode: self.mode.clone().unwrap_or_else(default),
        }
    }

    /// The reply to `thread/start`.
    pub(crate) fn started(&self, thread: Thread) -> ThreadStartResponse {
        let settings = &self.settings;
        ThreadStartResponse {
            thread,
            model: settings.model.clone(),
            model_provider: settings.model_provider_id.clone(),
            service_tier: settings.service_tier.clone(),
            cwd: settings.cwd.clone(),
            approval_policy: wire_approval(settings.approval_policy),
            approvals_reviewer: wire_reviewer(settings.approvals_reviewer),
            sandbox: wire_sandbox(settings.sandbox_policy.clone()),
            active_permission_profile: self.permission_profile(),
            reasoning_effort: settings.reasoning_effort.clone(),
        }
    }

    pub(crate) fn resumed(&self, thread: Thread) -> ThreadResumeResponse {
        let started = self.started(self.with_live(thread));
        ThreadResumeResponse {
            thread: started.thread,
            model: started.model,
            model_provider: started.model_provider,
            service_tier: started.service_tier,
            cwd: started.cwd,
            approval_policy: started.approval_policy,
            approvals_reviewer: started.approvals_reviewer,
            sandbox: started.sandbox,
            active_permission_profile: started.active_permission_profile,
            reasoning_effort: started.reasoning_effort,
            initial_turns_page: None,
        }
    }

    pub(crate) fn forked(&self, thread: Thread) -> ThreadForkResponse {
        let started = self.started(self.with_live(thread));
        ThreadForkResponse {
            thread: started.thread,
            model: started.model,
            model_provider: started.model_provider,
            service_tier: started.service_tier,
            cwd: started.cwd,
            approval_policy: started.approval_policy,
            approvals_reviewer: started.approvals_reviewer,
            sandbox: started.sandbox,
            active_permission_profile: started.active_permission_profile,
            reasoning_effort: started.reasoning_effort,
        }
    }
}

/// The thread of a file, and its turns, which are put into the message about it.
pub(crate) fn stored_thread(
    path: &Path,
    history: History,
    status: ThreadStatus,
) -> (Thread, Turns) {
    let meta = history.meta;
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
        project_id: Update::Clear,
        parent_thread_id: parent_of(&meta.source),
        thread_source: None,
        history_mode: Some(ThreadHistoryMode::Legacy),
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

/// The thread that spawned one of this source.
fn parent_of(source: &SessionSource) -> Option<String> {
    match source {
        SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
            parent_thread_id, ..
        }) => Some(parent_thread_id.to_string()),
        _ => None,
    }
}

fn modified(path: &Path) -> Option<i64> {
    let modified = fs::metadata(path).ok()?.modified().ok()?;
    let since = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}
