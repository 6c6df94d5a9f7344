//! Agents that a session starts, as child sessions of the client: for clients that know such sessions. Pure.
//!
//! The end of the call that starts an agent names the agent's thread. What the agent does before is held until then,
//! because a client has to hear of a child before the child speaks. Clients send nothing to children.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    IdleStateUpdate, IdleStopReason, MessageId, RunningStateUpdate, SessionId, SessionMessage,
    SessionNotification, SessionUpdate, StateUpdate, SubagentUpdate, ToolCallContent,
};
use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{
    CollabAgentTool, SubAgentActivityKind, ThreadItem, TurnStatus,
};

use crate::client_features::ClientFeatures;
use crate::prompt_blocks;
use crate::session::AcpSession;

/// How much of an agent is held.
const HELD_LIMIT: usize = 1000;

/// The longest title, in characters.
const TITLE: usize = 80;

#[derive(Debug, Default)]
pub(crate) struct Children {
    /// Running calls that start an agent: their threads and ids.
    spawning: HashSet<(String, String)>,
    known: HashMap<String, Child>,
}

#[derive(Debug)]
struct Child {
    session: Arc<AcpSession>,
    /// None until the client was told of the child.
    parent: Option<SessionId>,
    held: Vec<SessionUpdate>,
    state: StateUpdate,
}

impl Children {
    /// A child that the client was told of.
    pub(crate) fn find(&self, thread: &str) -> Option<Arc<AcpSession>> {
        let child = self.known.get(thread)?;
        child.parent.is_some().then(|| Arc::clone(&child.session))
    }

    /// Follows the calls of a session, or of a child, that start agents. Returns the updates about new children.
    pub(crate) fn follow(&mut self, notification: &ServerNotification) -> Vec<SessionNotification> {
        use ServerNotification as N;
        let mut updates = Vec::new();
        match notification {
            N::ItemStarted(it) => {
                if let Some(spawn) = spawn_of(&it.item) {
                    let call = (it.thread_id.clone(), spawn.id.to_owned());
                    self.spawning.insert(call);
                }
            }
            N::ItemCompleted(it) => {
                if let Some(spawn) = spawn_of(&it.item) {
                    let parent = SessionId::new(it.thread_id.clone());
                    for thread in spawn.agents {
                        updates.extend(self.announce(&parent, thread, spawn.prompt));
                    }
                    let call = (it.thread_id.clone(), spawn.id.to_owned());
                    self.spawning.remove(&call);
                }
            }
            N::TurnCompleted(it) => self.spawning.retain(|(thread, _)| *thread != it.thread_id),
            _ => {}
        }
        if self.spawning.is_empty() {
            self.known.retain(|_, child| child.parent.is_some());
        }
        updates
    }

    /// The updates for a notification of a thread that is not a session; none if it is not an agent of one.
    pub(crate) fn notified(
        &mut self,
        thread: &str,
        notification: &ServerNotification,
        diffs: Vec<ToolCallContent>,
        client_features: ClientFeatures,
    ) -> Vec<SessionNotification> {
        if !self.known.contains_key(thread) && self.spawning.is_empty() {
            return Vec::new();
        }
        let child = self.child(thread);
        let updates = match message_to(&child.session.id, notification) {
            Some(message) => vec![SessionUpdate::SessionMessage(message)],
            None => {
                let mut state = child.session.state();
                let projection = &mut state.projection;
                projection.notified(notification, diffs, client_features)
            }
        };
        child.held.extend(updates);
        let changed = state_after(notification).inspect(|state| child.state = state.clone());
        let Some(parent) = child.parent.clone() else {
            child.held.truncate(HELD_LIMIT);
            return Vec::new();
        };
        let mut updates = child.release(&parent);
        if let Some(state) = changed {
            let update = SubagentUpdate::new(child.session.id.clone()).state(state);
            let update = SessionUpdate::SubagentUpdate(update);
            updates.push(SessionNotification::new(parent, update));
        }
        updates.extend(self.follow(notification));
        updates
    }

    fn child(&mut self, thread: &str) -> &mut Child {
        let known = self.known.entry(thread.to_owned());
        known.or_insert_with(|| Child {
            session: AcpSession::new(thread),
            parent: None,
            held: Vec::new(),
            state: StateUpdate::Running(RunningStateUpdate::new()),
        })
    }

    fn announce(
        &mut self,
        parent: &SessionId,
        thread: &str,
        prompt: Option<&str>,
    ) -> Vec<SessionNotification> {
        let child = self.child(thread);
        child.parent = Some(parent.clone());
        let mut update = SubagentUpdate::new(child.session.id.clone()).state(child.state.clone());
        if let Some(prompt) = prompt {
            let line = prompt.trim().lines().next().unwrap_or_default();
            let title: String = line.chars().take(TITLE).collect();
            update = update.title(title).description(prompt.to_owned());
        }
        let update = SessionUpdate::SubagentUpdate(update);
        let mut updates = vec![SessionNotification::new(parent.clone(), update)];
        updates.extend(child.release(parent));
        updates
    }

    /// Forgets the children of a session that closes, and theirs.
    pub(crate) fn forget(&mut self, session: &SessionId) {
        let mut closing = vec![session.clone()];
        while let Some(parent) = closing.pop() {
            let is_child = |child: &Child| child.parent.as_ref() == Some(&parent);
            let children = self.known.values().filter(|child| is_child(child));
            closing.extend(children.map(|child| child.session.id.clone()));
            self.known.retain(|_, child| !is_child(child));
            self.spawning.retain(|(thread, _)| **thread != *parent.0);
        }
    }
}

impl Child {
    /// What was held, as updates of the child.
    fn release(&mut self, parent: &SessionId) -> Vec<SessionNotification> {
        let held = std::mem::take(&mut self.held).into_iter();
        let updates = held.map(|update| match update {
            SessionUpdate::SessionMessage(message) => {
                SessionUpdate::SessionMessage(message.sender_session_id(parent.clone()))
            }
            update => update,
        });
        let id = &self.session.id;
        updates
            .map(|update| SessionNotification::new(id.clone(), update))
            .collect()
    }
}

/// A call that starts agents.
struct SpawnCall<'a> {
    id: &'a str,
    agents: &'a [String],
    prompt: Option<&'a str>,
}

fn spawn_of(item: &ThreadItem) -> Option<SpawnCall<'_>> {
    match item {
        ThreadItem::CollabAgentToolCall {
            id,
            tool: CollabAgentTool::SpawnAgent,
            receiver_thread_ids,
            prompt,
            ..
        } => Some(SpawnCall {
            id,
            agents: receiver_thread_ids,
            prompt: prompt.as_deref(),
        }),
        ThreadItem::SubAgentActivity {
            id,
            kind: SubAgentActivityKind::Started,
            agent_thread_id,
            agent_path,
            ..
        } => Some(SpawnCall {
            id,
            agents: std::slice::from_ref(agent_thread_id),
            prompt: Some(agent_path),
        }),
        _ => None,
    }
}

/// The input of an agent, which its parent sent.
fn message_to(child: &SessionId, notification: &ServerNotification) -> Option<SessionMessage> {
    let ServerNotification::ItemCompleted(it) = notification else {
        return None;
    };
    let ThreadItem::UserMessage { id, content, .. } = &it.item.item else {
        return None;
    };
    let blocks: Vec<_> = content.iter().map(prompt_blocks::block_of).collect();
    let message = SessionMessage::new(MessageId::new(id.clone()))
        .recipient_session_id(child.clone())
        .content(blocks);
    Some(message)
}

fn state_after(notification: &ServerNotification) -> Option<StateUpdate> {
    match notification {
        ServerNotification::TurnStarted(_) => Some(StateUpdate::Running(RunningStateUpdate::new())),
        ServerNotification::TurnCompleted(it) => {
            let reason = match it.turn.status {
                TurnStatus::Completed | TurnStatus::InProgress => Some(IdleStopReason::EndTurn),
                TurnStatus::Interrupted => Some(IdleStopReason::Cancelled),
                TurnStatus::Failed => None,
            };
            Some(StateUpdate::Idle(
                IdleStateUpdate::new().stop_reason(reason),
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "children_tests.rs"]
mod tests;
