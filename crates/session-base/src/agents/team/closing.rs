//! Ending an agent of a team for good, with those below it.
//!
//! What was closed stays known, so that nobody else gets its path and a message to it is refused.

use std::sync::Arc;

use codex_protocol::{AgentPath, AgentStatus, ThreadId};

use super::{
    AgentTeam, Residence, TeamError, TeamState, is_within, member_closed, not_found, root_path,
};
use crate::agents::paths::parent_path;
use crate::thread::SessionEnd;

/// An agent that is being closed.
#[derive(Debug)]
pub struct ClosingMember {
    pub id: ThreadId,
    previous_status: AgentStatus,
    /// The ends of its session and of those below it.
    ending: Vec<SessionEnd>,
}

impl ClosingMember {
    /// Waits until the sessions have ended. Returns what the agent did before.
    pub async fn ended(self) -> AgentStatus {
        futures::future::join_all(self.ending).await;
        self.previous_status
    }
}

impl AgentTeam {
    /// Closes an agent and those below it, for the thread at `caller`. Their sessions begin to end.
    pub fn close_member(
        &self,
        caller: &AgentPath,
        path: &AgentPath,
    ) -> Result<ClosingMember, TeamError> {
        if *path == root_path() {
            return Err(TeamError::Root);
        }
        if is_within(caller, path) {
            return Err(TeamError::Above);
        }
        let mut state = self.state.lock();
        let member = state.members.get(path).ok_or_else(|| not_found(&path.0))?;
        if member.is_closed() {
            return Err(member_closed(path));
        }
        let (id, previous_status) = (member.id.clone(), member.residence.status());
        let within = state.members.iter_mut();
        let within = within.filter(|(below, _)| is_within(below, path));
        let ending = within.filter_map(|(_, member)| {
            member.unload();
            member.mailbox = Arc::default();
            match std::mem::replace(&mut member.residence, Residence::Closed) {
                Residence::Stored { former, .. } => former,
                _ => None,
            }
        });
        Ok(ClosingMember {
            id,
            previous_status,
            ending: ending.collect(),
        })
    }
}

impl TeamState {
    /// No agent is started below one that was closed.
    pub(super) fn check_not_closed_above(&self, path: &AgentPath) -> Result<(), TeamError> {
        let above = std::iter::successors(parent_path(path), parent_path);
        for above in above {
            if (self.members.get(&above)).is_some_and(super::Member::is_closed) {
                return Err(member_closed(&above));
            }
        }
        Ok(())
    }

    /// An agent did not start. One that was closed meanwhile stays known.
    pub(super) fn forget_unstarted(&mut self, path: &AgentPath) {
        if (self.members.get(path)).is_some_and(|member| !member.is_closed()) {
            self.members.remove(path);
        }
    }
}
