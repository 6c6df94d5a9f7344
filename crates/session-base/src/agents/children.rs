//! The open agents of a thread.

use std::collections::BTreeMap;
use std::sync::Arc;

use codex_protocol::{AgentStatus, ThreadId};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::task::JoinSet;
use tokio_util::sync::DropGuard;

use super::names::AgentNames;
use crate::thread::AgentThread;

/// An agent, owned by the session of its parent. Dropping it ends the agent.
#[derive(Debug)]
pub struct ChildAgent {
    pub thread: AgentThread,
    pub nickname: Option<String>,
    pub role: Option<String>,
    pub status: watch::Receiver<AgentStatus>,
    /// Whether the model of the parent was told that it is done.
    is_reported: bool,
    cancel: DropGuard,
    /// Its slot in the tree.
    _slot: OwnedSemaphorePermit,
}

/// The handle of an agent. It does not keep the agent running.
#[derive(Clone, Debug)]
pub struct AgentHandle {
    pub thread: AgentThread,
    pub nickname: Option<String>,
    pub role: Option<String>,
    pub status: watch::Receiver<AgentStatus>,
}

impl AgentHandle {
    pub fn status_now(&self) -> AgentStatus {
        self.status.borrow().clone()
    }
}

impl ChildAgent {
    pub fn new(
        thread: AgentThread,
        nickname: Option<String>,
        role: Option<String>,
        cancel: DropGuard,
        slot: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            status: thread.status(),
            thread,
            nickname,
            role,
            is_reported: false,
            cancel,
            _slot: slot,
        }
    }

    /// The model of the parent is not told when it is done.
    pub fn unreported(mut self) -> Self {
        self.is_reported = true;
        self
    }

    fn handle(&self) -> AgentHandle {
        AgentHandle {
            thread: Arc::clone(&self.thread),
            nickname: self.nickname.clone(),
            role: self.role.clone(),
            status: self.status.clone(),
        }
    }

    /// Ends the agent and waits until it has ended.
    pub async fn close(self) {
        self.cancel.disarm().cancel();
        self.thread.end().await;
    }
}

/// The open agents of a thread.
#[derive(Debug, Default)]
pub struct ChildAgents {
    open: BTreeMap<ThreadId, ChildAgent>,
    names: AgentNames,
    /// The running agents, each until it is done.
    working: JoinSet<()>,
}

impl ChildAgents {
    /// Chooses a name for an agent.
    pub fn name(&mut self, candidates: &[String], random: f64) -> String {
        self.names.pick(candidates, random)
    }

    /// Marks a name as used.
    pub fn take_name(&mut self, name: &str) {
        self.names.take(name);
    }

    pub fn add(&mut self, child: ChildAgent) {
        let mut status = child.status.clone();
        self.working.spawn(async move {
            let _ = status.wait_for(AgentStatus::is_final).await;
        });
        self.open.insert(child.thread.id().clone(), child);
    }

    /// An open agent.
    pub fn find(&self, id: &ThreadId) -> Option<AgentHandle> {
        let child = self.open.get(id)?;
        (!child.thread.has_ended()).then(|| child.handle())
    }

    /// Removes agents that have ended, which frees their slots.
    pub fn forget_closed(&mut self) {
        self.open.retain(|_, child| !child.thread.has_ended());
    }

    pub fn remove(&mut self, id: &ThreadId) -> Option<ChildAgent> {
        let child = self.open.remove(id)?;
        (!child.thread.has_ended()).then_some(child)
    }

    /// Waits until an agent is done; for ever if none runs.
    pub async fn one_done(&mut self) {
        if self.working.join_next().await.is_none() {
            std::future::pending().await
        }
    }

    /// The agents that are done and were not reported yet. They count as reported from now on.
    pub fn report(&mut self) -> Vec<(ThreadId, AgentStatus)> {
        let mut done = Vec::new();
        for (id, child) in &mut self.open {
            let status = child.status.borrow().clone();
            if !child.is_reported && status.is_final() {
                child.is_reported = true;
                done.push((id.clone(), status));
            }
        }
        done
    }

    /// Ends all agents, and waits until they have ended.
    pub async fn close_all(&mut self) {
        let open = std::mem::take(&mut self.open);
        futures::future::join_all(open.into_values().map(ChildAgent::close)).await;
    }
}
