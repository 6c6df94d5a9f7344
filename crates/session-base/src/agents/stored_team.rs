//! The agents that earlier processes started in a tree, found in the files of the tree.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use codex_protocol::{
    AgentPath, AgentStatus, EventMsg, RolloutItem, SessionSource, SubAgentActivityKind,
    SubAgentSource, ThreadId,
};
use codex_rollout::{ScannedLine, scan};

use super::paths::is_within;
use crate::events::{go_on, status_after};

/// How many agents are looked up.
const LIMIT: usize = 1024;

/// An agent of an earlier process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMember {
    pub path: AgentPath,
    pub id: ThreadId,
    /// What became of its last turn; none if it was closed.
    pub status: Option<AgentStatus>,
}

/// What the file of a thread says about agents.
#[derive(Debug, Default)]
struct ThreadFile {
    /// The thread that started it, if it is an agent.
    parent: Option<ThreadId>,
    status: Option<AgentStatus>,
    /// The agents that it started, in order. A copy of another thread names those of that one too.
    started: BTreeMap<AgentPath, ThreadId>,
    /// The agents that it closed, of the whole tree.
    closed: Vec<ThreadId>,
}

/// Finds the agents of a tree. Blocks on the file system.
pub fn stored_members(home: &Path, root: &ThreadId, file: &Path) -> Vec<StoredMember> {
    let mut found: Vec<StoredMember> = Vec::new();
    let ThreadFile {
        started,
        mut closed,
        ..
    } = read(file);
    let mut threads = VecDeque::from([(root.clone(), started)]);
    while let Some((parent, started)) = threads.pop_front() {
        for (path, id) in started {
            let is_known = |member: &StoredMember| member.id == id || member.path == path;
            if found.len() >= LIMIT || found.iter().any(is_known) {
                continue;
            }
            let Some(file) = find(home, &id).map(|file| read(&file)) else {
                continue;
            };
            if file.parent.as_ref() != Some(&parent) {
                continue;
            }
            threads.push_back((id.clone(), file.started));
            closed.extend(file.closed);
            found.push(StoredMember {
                path,
                id,
                status: Some(file.status.unwrap_or(AgentStatus::Interrupted)),
            });
        }
    }
    let is_named = |member: &&StoredMember| closed.contains(&member.id);
    let named: Vec<AgentPath> = (found.iter().filter(is_named))
        .map(|member| member.path.clone())
        .collect();
    for member in &mut found {
        if named.iter().any(|top| is_within(&member.path, top)) {
            member.status = None;
        }
    }
    found
}

/// The file of a thread, also if it is archived.
pub fn find(home: &Path, id: &ThreadId) -> Option<PathBuf> {
    codex_rollout::find(home, id).or_else(|| codex_rollout::find_archived(home, id))
}

fn read(path: &Path) -> ThreadFile {
    let mut file = ThreadFile::default();
    // What cannot be read has no agents.
    let _ = scan(path, |line| {
        take(&mut file, line);
        ControlFlow::Continue(())
    });
    file
}

fn take(file: &mut ThreadFile, line: ScannedLine<'_>) {
    let Some((kind, payload)) = line.kind() else {
        return;
    };
    let is_wanted = match (kind.as_ref(), payload.as_deref()) {
        ("session_meta", _) => file.parent.is_none(),
        ("event_msg", Some(event)) => matches!(
            event,
            "sub_agent_activity" | "task_started" | "task_complete" | "turn_aborted"
        ),
        _ => false,
    };
    if !is_wanted {
        return;
    }
    match line.read().map(|line| line.item) {
        Some(RolloutItem::SessionMeta(meta)) => {
            if let SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
                parent_thread_id, ..
            }) = meta.source
            {
                file.parent = Some(parent_thread_id);
            }
        }
        Some(RolloutItem::EventMsg(EventMsg::SubAgentActivity(activity)))
            if activity.kind == SubAgentActivityKind::Started =>
        {
            file.started
                .insert(activity.agent_path, activity.agent_thread_id);
        }
        Some(RolloutItem::EventMsg(EventMsg::SubAgentActivity(activity))) if activity.closed => {
            file.closed.push(activity.agent_thread_id);
        }
        Some(RolloutItem::EventMsg(event)) => {
            if let Some(next) = status_after(&event) {
                go_on(file.status.get_or_insert(AgentStatus::PendingInit), next);
            }
        }
        _ => {}
    }
}
