//! The agents that a thread has open.

use std::collections::BTreeMap;

use codex_protocol::{AgentStatus, ThreadId};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::DropGuard;

use super::Spawned;
use super::names::Names;
use crate::thread::Thread;

/// An agent, owned by the session of its parent. Dropping it ends the agent.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) thread: Thread,
    pub(crate) nickname: Option<String>,
    pub(crate) role: Option<String>,
    pub(crate) status: watch::Receiver<AgentStatus>,
    /// Whether its parent was told that it is done.
    is_reported: bool,
    leash: DropGuard,
    /// Its place in the tree.
    _place: OwnedSemaphorePermit,
}

/// What tools know of an agent. Holding it does not keep the agent from ending.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) thread: Thread,
    pub(crate) nickname: Option<String>,
    pub(crate) role: Option<String>,
    pub(crate) status: watch::Receiver<AgentStatus>,
}

impl Known {
    pub(crate) fn status_now(&self) -> AgentStatus {
        self.status.borrow().clone()
    }
}

impl Child {
    pub(crate) fn new(
        thread: Thread,
        nickname: Option<String>,
        role: Option<String>,
        leash: DropGuard,
        place: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            status: thread.emitter.status(),
            thread,
            nickname,
            role,
            is_reported: false,
            leash,
            _place: place,
        }
    }

    fn known(&self) -> Known {
        Known {
            thread: self.thread.clone(),
            nickname: self.nickname.clone(),
            role: self.role.clone(),
            status: self.status.clone(),
        }
    }

    /// Ends the agent and waits until it has ended.
    pub(crate) async fn close(self) {
        self.leash.disarm().cancel();
        self.thread.mailbox.closed().await;
    }
}

/// The agents that a thread has open.
#[derive(Debug)]
pub(crate) struct Children {
    open: BTreeMap<ThreadId, Child>,
    names: Names,
    /// Where those who hear the thread are handed its agents.
    tell: mpsc::Sender<Spawned>,
    /// The agents that are at work, each until it is done.
    working: JoinSet<()>,
}

impl Children {
    pub(crate) fn new(tell: mpsc::Sender<Spawned>) -> Self {
        Self {
            open: BTreeMap::new(),
            names: Names::default(),
            tell,
            working: JoinSet::new(),
        }
    }

    /// A name for an agent.
    pub(crate) fn name(&mut self, candidates: &[String], random: f64) -> String {
        self.names.pick(candidates, random)
    }

    /// An agent has this name already.
    pub(crate) fn take_name(&mut self, name: &str) {
        self.names.take(name);
    }

    /// Hands an agent to whoever hears the thread; false if nobody takes it.
    pub(crate) fn tell(&self, agent: Spawned) -> bool {
        self.tell.try_send(agent).is_ok()
    }

    pub(crate) fn add(&mut self, child: Child) {
        let mut status = child.status.clone();
        self.working.spawn(async move {
            let _ = status.wait_for(AgentStatus::is_final).await;
        });
        self.open.insert(child.thread.id().clone(), child);
    }

    /// An agent that is open.
    pub(crate) fn find(&self, id: &ThreadId) -> Option<Known> {
        let child = self.open.get(id)?;
        (!child.thread.mailbox.is_closed()).then(|| child.known())
    }

    /// Lets go of those that others have closed, whose places are free with that.
    pub(crate) fn forget_closed(&mut self) {
        self.open
            .retain(|_, child| !child.thread.mailbox.is_closed());
    }

    pub(crate) fn remove(&mut self, id: &ThreadId) -> Option<Child> {
        let child = self.open.remove(id)?;
        (!child.thread.mailbox.is_closed()).then_some(child)
    }

    /// Waits until one is done; for ever if none is at work.
    pub(crate) async fn one_done(&mut self) {
        if self.working.join_next().await.is_none() {
            std::future::pending().await
        }
    }

    /// Those that are done and were not reported yet, which they are now.
    pub(crate) fn report(&mut self) -> Vec<(ThreadId, AgentStatus)> {
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

    /// Ends all of them, and waits until they have ended.
    pub(crate) async fn close_all(&mut self) {
        let open = std::mem::take(&mut self.open);
        futures::future::join_all(open.into_values().map(Child::close)).await;
    }
}
